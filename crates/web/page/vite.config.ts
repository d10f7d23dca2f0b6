// How the page is built. The crate around it says where to: it passes `--outDir`.
import { readFileSync, readdirSync } from "node:fs";
import preact from "@preact/preset-vite";
import { parse } from "smol-toml";
import { defineConfig, type Plugin } from "vite";

// Where `npm run dev` finds a running server.
const server = process.env["AGENT_WORLD_URL"] ?? "http://127.0.0.1:7420";
// A server without tokens takes requests from pages of its own only, and says so by these headers.
const proxy = { target: server, changeOrigin: true, headers: { origin: server } };

/** The worlds that the command line makes ready for use, as data: one source for both. */
function templates(): Plugin {
  const name = "virtual:templates";
  const folder = new URL("../../cli/src/templates/", import.meta.url);
  return {
    name,
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load(id) {
      if (id !== `\0${name}`) return undefined;
      const files = readdirSync(folder).filter((file) => file.endsWith(".toml"));
      const all = files.map((file) => ({
        name: file.replace(/\.toml$/, ""),
        settings: parse(readFileSync(new URL(file, folder), "utf8")),
      }));
      return `export default ${JSON.stringify(all)}`;
    },
  };
}

export default defineConfig({
  plugins: [preact(), templates()],
  build: {
    target: "es2023",
    // The first that have light-dark(), which is otherwise written out twice.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // A data URL would need a hole in the page's content policy.
    assetsInlineLimit: 0,
    // The polyfill is an inline script.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: { "/api": proxy, "/v1": proxy, "/openapi.json": proxy },
  },
});
