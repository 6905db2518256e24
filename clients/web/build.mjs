/** Builds the three files that the package ships: `node build.mjs [folder]`. */
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const folder = process.argv[2] ?? here("../../src/sottovoce/service/static");
const shared = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  absWorkingDir: here("."),
  logLevel: "warning",
  logOverride: { "empty-import-meta": "silent" },
};
const banner = { js: "/* sottovoce: answers are randomized before they are sent. Apache-2.0. Built from clients/web. */" };

await build({ ...shared, banner, entryPoints: ["src/index.ts"], format: "esm", outfile: `${folder}/sottovoce.js` });
await build({
  ...shared,
  banner,
  entryPoints: ["src/index.ts"],
  format: "iife",
  globalName: "sottovoce",
  outfile: `${folder}/sottovoce.script.js`,
});
await build({ ...shared, banner, entryPoints: ["src/vector/install.ts"], format: "esm", outfile: `${folder}/sottovoce-vectors.js` });
