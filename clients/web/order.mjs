/**
 * Looks for an order of the names in `private.mjs` with which the bundle is compressed better: `node order.mjs [seconds]`
 * swaps two names as long as that helps, and prints the list to paste. A few hundred bytes depend on it.
 */
import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { minify } from "terser";
import { MINIFY, SHORT } from "./private.mjs";

const names = Object.keys(SHORT.mangleCache);
const shorts = Object.values(SHORT.mangleCache);
const { outputFiles } = await build({
  mangleProps: SHORT.mangleProps,
  mangleCache: Object.fromEntries(names.map((name, place) => [name, `$${place}$`])),
  ...{ bundle: true, minify: true, target: "es2022", charset: "utf8", format: "esm", splitting: true, write: false, outdir: "none" },
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  entryPoints: ["src/index.ts"],
});
const [largest] = outputFiles.map(({ text }) => text).sort((one, other) => other.length - one.length);
const parts = (await minify(largest, MINIFY)).code.split(/\$(\d+)\$/); // every second part is the place of a name
const size = (order) => gzipSync(parts.map((part, place) => (place % 2 ? shorts[order[part]] : part)).join(""), { level: 9 }).length;

let order = names.map((_, place) => place);
let best = size(order);
console.log(`${best} bytes`);
for (const end = Date.now() + 1000 * Number(process.argv[2] ?? 60); Date.now() < end; ) {
  const [one, other] = [0, 0].map(() => Math.floor(Math.random() * names.length));
  const tried = order.with(one, order[other]).with(other, order[one]);
  const found = size(tried);
  if (found <= best) [order, best] = [tried, found];
}
console.log(`${best} bytes`);
const sorted = [];
order.forEach((place, name) => (sorted[place] = names[name]));
console.log(sorted.join(" "));
