/** sottovoce in the browser: answers are randomized here, before anything is sent. */
import type { Coins } from "./core/coins";
import { part, refuse } from "./core/errors";
import { named, parse } from "./core/json";
import { get, isClosed } from "./device/send";
import { openStore } from "./device/store";
import { Study, type Options } from "./device/study";
import { Manifest } from "./manifest";
import { Mechanism } from "./mechanism";
import { KEYS, RARE, SELDOM, TABLES } from "./seldom";

export { SottovoceError } from "./core/errors";
export type { Meaning } from "./device/meaning";
export type { Delivery, Options, Preview } from "./device/study";
export { Study } from "./device/study";
export { Manifest, Question, type ExperimentArm } from "./manifest";
export { Mechanism } from "./mechanism";

export const version = "0.1.0";
const DATABASE = "sottovoce";

/** Load what a specification needs. */
async function load(source: unknown): Promise<void> {
  const names = named(parse(source).spec, ["node", "kind"]);
  const some = (kinds: string[]): boolean => names.some((name) => kinds.includes(name));
  if (some(SELDOM)) await part(import("./vector/index"));
  if (some(RARE)) await part(import("./channel/rare"));
  if (some(TABLES)) await part(import("./tables/index"));
  if (some(KEYS)) await part(import("./tables/keys"));
}

/** Coins from a seed: for simulations and tests, never for privacy. */
export async function seeded(seed: number | bigint): Promise<Coins> {
  return (await import("./vector/index")).seeded(seed);
}

/** A mechanism from its specification: a text, bytes or plain data. */
export async function mechanism(source: unknown): Promise<Mechanism> {
  await load(source);
  return Mechanism.fromSpec(source);
}

/**
 * Open a study: its address, that of its manifest or of its collector, or the manifest itself. A study whose true
 * epsilon exceeds what it states, or what this device allows, is refused.
 */
export async function open(source: string | object, options: Options = {}): Promise<Study> {
  let content: unknown = source;
  let url = options.url ?? "";
  let state: string | null = null;
  if (typeof source === "string" && !source.trimStart().startsWith("{")) {
    url = await addressOf(source);
    ({ content, state } = await get(`${url}/manifest`));
  }
  await load(content);
  const manifest = Manifest.fromSpec(content);
  const address = /\/v1\/studies\/([0-9a-f]{16})$/.exec(url);
  if (url && address?.[1] !== manifest.id)
    refuse("The collector gives the manifest of another study.", "study");
  const seal = manifest.facts.collection.sealedFor ? (await part(import("./seal/index"))).sealed : undefined;
  return new Study(manifest, url, await openStore(options.database ?? DATABASE), options, seal, isClosed(state));
}

/** The address of a study itself. */
async function addressOf(given: string): Promise<string> {
  let address: URL;
  try {
    address = new URL(given, globalThis.document?.baseURI);
  } catch {
    return refuse("This is not the address of a study.", "study");
  }
  const path = `${address.origin}${address.pathname}`.replace(/\/+$/, "").replace(/\/manifest$/, "");
  if (/\/v1\/studies\/[0-9a-f]{16}$/.test(path)) return path;
  const said = new TextDecoder().decode((await get(`${path}/v1/studies`)).content);
  let listed: any;
  try {
    listed = JSON.parse(said);
  } catch {
    // another server: it has no studies
  }
  const all: unknown = listed?.studies ?? listed;
  const open = (Array.isArray(all) ? all : []).filter((one) => one?.state === "open" && /^[0-9a-f]{16}$/.test(one?.id));
  if (open.length === 1) return `${path}/v1/studies/${open[0].id}`;
  return refuse(`This collector has ${open.length} open studies: give the address of one.`, "study");
}
