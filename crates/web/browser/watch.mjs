// Watches a page for anything that a text of a model must never cause: a script that ran, a dialog, a request to somewhere
// else, a refusal by the content policy.

/** What a block of rendered Markdown may consist of. */
const TAGS =
  "A BDI BLOCKQUOTE BR BUTTON CODE DD DEL DIV DL DT EM H1 H2 H3 H4 H5 H6 HR LI OL P PRE S SPAN STRONG SUB SUP SVG PATH TABLE TBODY TD TH THEAD TR UL INPUT";

/** Begins to watch; the answer is a list that stays empty. Call before the page is opened. */
export async function watch(context, origin) {
  const found = [];
  await context.exposeBinding("tellTest", (_, what) => void found.push(what));
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      window.tellTest(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    );
    window.addEventListener("error", (event) => window.tellTest(`error: ${event.message}`));
    window.addEventListener("unhandledrejection", (event) => window.tellTest(`rejection: ${event.reason}`));
    let ran;
    Object.defineProperty(window, "ran", {
      get: () => ran,
      set(value) {
        ran = value;
        window.tellTest("a script ran");
      },
    });
  });
  context.on("request", (request) => {
    const address = request.url();
    if (!address.startsWith(`${origin}/`)) found.push(`request: ${address.slice(0, 200)}`);
  });
  context.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) found.push(`console: ${message.text()}`);
  });
  context.on("dialog", (dialog) => {
    found.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on("page", (page) => {
    page.on("crash", () => found.push("the page crashed"));
    page.on("popup", () => found.push("a window opened"));
  });
  return found;
}

/** What is in the page that no text may put there. */
export function strange(page) {
  return page.evaluate((tags) => {
    const allowed = new Set(tags.split(" "));
    const wrong = [];
    for (const one of document.querySelectorAll(".prose *")) {
      if (!allowed.has(one.tagName.toUpperCase())) wrong.push(one.tagName);
      for (const { name, value } of one.attributes)
        if (name.startsWith("on") || name === "style" || name === "srcset")
          wrong.push(`${one.tagName} ${name}=${value}`);
    }
    for (const link of document.querySelectorAll("a[href]"))
      if (!/^(https?:|mailto:)/.test(link.href)) wrong.push(`link to ${link.href.slice(0, 80)}`);
    for (const one of document.querySelectorAll(
      "script, iframe, object, embed, base, form[action], meta[http-equiv], link",
    ))
      if (!document.head.contains(one)) wrong.push(one.outerHTML.slice(0, 120));
    for (const image of document.images)
      if (!image.src.startsWith(`${location.origin}/assets/`)) wrong.push(`image ${image.src.slice(0, 80)}`);
    return [...new Set(wrong)];
  }, TAGS);
}

/** The page still does what it is told: something is typed and read back, and a frame is drawn. */
export async function responds(page) {
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("");
  await field.pressSequentially("still here");
  await page.waitForFunction(() => document.querySelector(".composer textarea")?.value === "still here");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await field.fill("");
}
