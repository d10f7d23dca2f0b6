// Puts a brotli and a gzip copy beside every file of a folder that gets smaller by it.
// Run by the build script with the folder as its argument.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const folder = process.argv[2];
const worthwhile = /\.(css|html|js|json|map|svg|txt|webmanifest|xml)$/;

for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !worthwhile.test(entry.name)) {
    continue;
  }
  const path = join(entry.parentPath ?? entry.path, entry.name);
  const content = readFileSync(path);
  const brotli = brotliCompressSync(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  });
  for (const [ending, compressed] of [["br", brotli], ["gz", gzipSync(content, { level: 9 })]]) {
    if (compressed.length < content.length) {
      writeFileSync(`${path}.${ending}`, compressed);
    }
  }
}
