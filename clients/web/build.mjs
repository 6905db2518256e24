/** Builds what the package ships: `node build.mjs [folder]`. */
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const outdir = process.argv[2] ?? here("../../src/sottovoce/service/static");
const shared = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  absWorkingDir: here("."),
  logLevel: "warning",
  outdir,
  banner: { js: "/* sottovoce: answers are randomized before they are sent. Apache-2.0. Built from clients/web. */" },
};

// The parts that few studies need are files of their own; what they share with the main one is a file too.
await build({
  ...shared,
  format: "esm",
  splitting: true,
  entryPoints: { sottovoce: "src/index.ts" },
  chunkNames: "sottovoce-[hash]",
});
await build({ ...shared, format: "iife", globalName: "sottovoce", entryPoints: { "sottovoce.script": "src/script.ts" } });
