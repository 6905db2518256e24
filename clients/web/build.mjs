/** Builds what the package ships: `node build.mjs [folder]`. */
import { build } from "esbuild";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { minify } from "terser";
import { MINIFY, SHORT } from "./private.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const outdir = process.argv[2] ?? here("../../src/sottovoce/service/static");
const BANNER = "/* sottovoce, Apache-2.0, built from clients/web */\n";
const shared = {
  ...SHORT,
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  absWorkingDir: here("."),
  logLevel: "warning",
  outdir,
  write: false,
};

/** Write what esbuild made, shorter. */
async function write({ outputFiles }) {
  for (const { path, text } of outputFiles) {
    const { code } = await minify(text, MINIFY);
    await writeFile(path, code.length < 1000 ? code : BANNER + code);
  }
}

// The nodes for vectors, which few studies need, are a file of their own. The other one has everything else, since one
// long file is compressed better than several; the name that pages load stays the same and leads to it.
await write(
  await build({
    ...shared,
    format: "esm",
    splitting: true,
    entryPoints: { sottovoce: "src/index.ts" },
    chunkNames: "sottovoce-[hash]",
  }),
);
await write(
  await build({ ...shared, format: "iife", entryPoints: { "sottovoce.script": "src/script.ts" } }),
);
