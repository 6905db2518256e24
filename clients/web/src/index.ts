/** sottovoce in the browser: answers are randomized here, before anything is sent. */
import { SottovoceError } from "./core/errors";
import { parse } from "./core/json";
import { get } from "./device/send";
import { openStore } from "./device/store";
import { Study, type Options } from "./device/study";
import * as kit from "./kit";
import { Manifest } from "./manifest";
import { Mechanism, nodesOf, VECTOR_NODES } from "./mechanism";

export { SeededCoins, SystemCoins } from "./core/coins";
export { SottovoceError } from "./core/errors";
export type { Delivery, Options, Preview } from "./device/study";
export { Study } from "./device/study";
export { Manifest, Question } from "./manifest";
export { Mechanism } from "./mechanism";
export * as wire from "./wire";

export const version = "0.1.0";
const DATABASE = "sottovoce";

// As a plain script this file knows its address from the page, as a module from itself.
const script = typeof document === "undefined" ? null : (document.currentScript as HTMLScriptElement | null);
const here = script?.src || import.meta.url;
let vectors: Promise<void> | null = null;

/** The nodes for vectors are loaded when a specification needs them. */
async function loadVectors(source: unknown): Promise<void> {
  const { spec } = parse(source);
  if (!nodesOf(spec).some((node) => VECTOR_NODES.includes(node)) && !Manifest.hasVectors(spec)) return;
  vectors ??= import(/* @vite-ignore */ new URL("sottovoce-vectors.js", here).href).then(
    (bundle: { install(given: typeof kit): void }) => bundle.install(kit),
  );
  try {
    await vectors;
  } catch {
    vectors = null;
    throw new SottovoceError("network", "The part of this client for vectors cannot be loaded.");
  }
}

/** A mechanism from its specification: a text, bytes or plain data. */
export async function mechanism(source: unknown): Promise<Mechanism> {
  await loadVectors(source);
  return Mechanism.fromSpec(source);
}

/**
 * Open a study: its address, that of its manifest or of its collector, or the manifest itself. A study whose true
 * epsilon exceeds what it states, or what this device allows, is refused.
 */
export async function open(source: string | object, options: Options = {}): Promise<Study> {
  let content: unknown = source;
  let url = options.url ?? "";
  if (typeof source === "string" && !source.trimStart().startsWith("{")) {
    url = await addressOf(source);
    content = await get(`${url}/manifest`);
  }
  await loadVectors(content);
  const manifest = Manifest.fromSpec(content);
  const named = /\/v1\/studies\/([0-9a-f]{16})$/.exec(url);
  if (url && named?.[1] !== manifest.id)
    throw new SottovoceError("study", "The collector gives the manifest of another study than the address says.");
  return new Study(manifest, url, await openStore(options.database ?? DATABASE), options);
}

/** The address of a study itself. */
async function addressOf(given: string): Promise<string> {
  const base = typeof document === "undefined" ? undefined : document.baseURI;
  let address: URL;
  try {
    address = new URL(given, base);
  } catch {
    throw new SottovoceError("study", "This is not the address of a study.");
  }
  const path = `${address.origin}${address.pathname}`.replace(/\/+$/, "").replace(/\/manifest$/, "");
  if (/\/v1\/studies\/[0-9a-f]{16}$/.test(path)) return path;
  let listed: unknown;
  try {
    listed = JSON.parse(new TextDecoder().decode(await get(`${path}/v1/studies`)));
  } catch (problem) {
    if (problem instanceof SottovoceError) throw problem;
  }
  const all = (Array.isArray(listed) ? listed : (listed as { studies?: unknown } | undefined)?.studies) as unknown;
  const open = (Array.isArray(all) ? all : []).filter((one) => one?.state === "open" && /^[0-9a-f]{16}$/.test(one?.id));
  if (open.length === 1) return `${path}/v1/studies/${open[0].id}`;
  throw new SottovoceError("study", `This collector has ${open.length} open studies: give the address of one.`);
}
