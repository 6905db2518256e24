/** Reading the shared vectors. Whole numbers are texts, fractions texts with a stroke. */
import { readFileSync } from "node:fs";
import { sha256 } from "../src/core/sha256";
import { fromBytes, hex, utf8 } from "../src/core/bytes";
import { idWords } from "../src/core/field";
import { Fraction } from "../src/core/fraction";
import { parse, type Spec } from "../src/core/json";
import type { Coins } from "../src/core/coins";
import type { Mechanism } from "../src/mechanism";
import "../src/channel/rare";
import "../src/tables/index";
import "../src/tables/keys";
import { seeded as fromSeed } from "../src/vector/index";

export function load(name: string): any {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"));
}

/** A list of the vectors, its specifications as the client reads them. */
export function specs(name: string): Spec[] {
  const text = readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8");
  return parse(`{"all":${text}}`).spec.all as Spec[];
}

export function code(plain: any): any {
  if (Array.isArray(plain)) return plain.map(code);
  if (!plain.includes("/")) return BigInt(plain);
  const [n, d] = plain.split("/").map(BigInt);
  return Fraction.of(n, d);
}

export function plainCode(value: any): any {
  if (Array.isArray(value)) return value.map(plainCode);
  return value instanceof Fraction ? `${value.n}/${value.d}` : String(value);
}

/** A text, or its SHA-256 where the vectors hold that. */
export function hashed(text: string, like: string): string {
  return like.startsWith("sha256:") ? `sha256:${hex(sha256(utf8(text)))}` : text;
}

export function seeded(seed: number, bits = 53): Coins {
  return fromSeed(seed, bits);
}

/** Whether bytes are a message of a mechanism. */
export function isMessage({ channel, payloadBytes }: Mechanism, message: Uint8Array): boolean {
  const held = message.length === 16 + payloadBytes && channel.accepts(idWords(message.slice(0, 16)));
  return held && channel.contains(fromBytes(message.subarray(16)));
}
