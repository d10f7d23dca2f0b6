// Builds the unit tests for Node, which does not read TypeScript. `npm test` then runs them.
import { readdirSync } from "node:fs";
import { defineConfig } from "vite";

export default defineConfig({
  build: {
    ssr: true,
    target: "node20",
    outDir: "node_modules/.tests",
    emptyOutDir: true,
    rollupOptions: {
      input: readdirSync(new URL("test/", import.meta.url)).map((file) => `test/${file}`),
      output: { entryFileNames: "[name].mjs" },
    },
  },
});
