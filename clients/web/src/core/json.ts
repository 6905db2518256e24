/**
 * Specifications: JSON without floats. Integers are read as BigInt, keys are given once, and there is one canonical
 * text, so that its SHA-256 is the same in every language.
 */
import { utf8 } from "./bytes";
import { need, refuse, SottovoceError } from "./errors";

export type Plain = null | boolean | bigint | string | Plain[] | { [key: string]: Plain };
export type Spec = { [key: string]: Plain };

const MOST = 1n << 53n;
const DEPTH = 32;
const BYTES = 1 << 26;
// A text, and the colon after it where it is a key; or an integer that is not a part of a float, and not a key.
const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?|-?(?:0|[1-9]\d*)(?![\d.eE]|[ \t\n\r]*:)/g;

/**
 * The language's own parser reads floats and forgets keys that are given twice. It is given texts only: the first letter
 * says whether one was an integer.
 */
function read(source: string): Plain {
  let keys = 0;
  const marked = source.replace(TOKEN, (token: string, text?: string, colon?: string) => {
    if (colon) keys++;
    return colon ? token : text ? `"s${text.slice(1)}` : `"n${token}"`;
  });
  const plain = (value: unknown, depth: number): Plain => {
    need(depth <= DEPTH, `A specification may be nested at most ${DEPTH} deep.`);
    if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1));
    if (typeof value === "string") return value[0] === "n" ? integer(value.slice(1)) : carried(value.slice(1));
    if (!isSpec(value)) return value as Plain;
    const found: Spec = Object.create(null);
    for (const key in value) {
      need(/^[\0-\x7f]*$/.test(key), "The keys of a specification are ASCII texts.");
      found[key] = plain(value[key], depth + 1);
      keys--;
    }
    return found;
  };
  const found = plain(JSON.parse(marked), 0);
  need(!keys, "A specification names a key twice.");
  return found;
}

function integer(text: string): bigint {
  const number = text.length > 20 ? MOST + 1n : BigInt(text);
  need(number <= MOST && number >= -MOST, "A specification holds integers up to 2**53.");
  return number;
}

function carried(text: string): string {
  need(!/[\ud800-\udfff]/u.test(text), "A specification must be JSON in UTF-8.");
  return text;
}

/** Read a specification: a text, bytes, or plain data as `JSON.parse` returns it. */
export function parse(source: any): { spec: Spec; bytes: number } {
  try {
    if (source instanceof Uint8Array) source = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(source);
    else if (typeof source !== "string")
      source = JSON.stringify(source, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value));
    need(source.length <= BYTES, `A specification has at most ${BYTES} bytes.`);
    const spec = read(source);
    need(isSpec(spec), "A specification must be a JSON object.");
    return { spec: spec as Spec, bytes: source.length };
  } catch (problem) {
    if (problem instanceof SottovoceError) throw problem;
    return refuse("A specification must be JSON in UTF-8, without floats.");
  }
}

export function isSpec(value: unknown): value is Spec {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every text under one of these keys, at any depth. */
export function named(plain: Plain, keys: string[]): string[] {
  if (Array.isArray(plain)) return plain.flatMap((one) => named(one, keys));
  if (!isSpec(plain)) return [];
  const own = keys.map((key) => plain[key]).filter((one) => typeof one === "string");
  return [...own, ...Object.values(plain).flatMap((one) => named(one, keys))];
}

/** The one text of a specification: keys sorted, no spaces. */
export function canonical(value: Plain): string {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (isSpec(value)) {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key]!)}`)}}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

export function canonicalBytes(value: Plain): Uint8Array {
  return utf8(canonical(value));
}
