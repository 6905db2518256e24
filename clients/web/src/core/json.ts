/**
 * Specifications: JSON without floats. Integers are read as BigInt, keys are given once, and there is one canonical
 * text, so that its SHA-256 is the same in every language.
 */
import { utf8 } from "./bytes";
import { refuse } from "./errors";

export type Plain = null | boolean | bigint | string | Plain[] | { [key: string]: Plain };
export type Spec = { [key: string]: Plain };

const MOST = 1n << 53n;
const DEPTH = 32;
const BYTES = 1 << 26;

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  whole(): Plain {
    const value = this.value(0);
    this.space();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private fail(): never {
    return refuse("A specification must be JSON in UTF-8, without floats.");
  }

  private space(): void {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at++;
  }

  private peek(): string {
    this.space();
    return this.text[this.at] ?? "";
  }

  private take(expected: string): void {
    if (this.peek() !== expected) this.fail();
    this.at++;
  }

  private value(depth: number): Plain {
    if (depth > DEPTH) refuse(`A specification may be nested at most ${DEPTH} deep.`);
    const first = this.peek();
    if (first === "{") return this.object(depth);
    if (first === "[") return this.list(depth);
    if (first === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.integer();
  }

  private integer(): bigint {
    INTEGER.lastIndex = this.at;
    const found = INTEGER.exec(this.text);
    if (!found) this.fail();
    this.at += found[0].length;
    if (found[0].length > 20 || ".eE".includes(this.text[this.at] ?? "x")) this.fail();
    const number = BigInt(found[0]);
    if (number > MOST || number < -MOST) refuse("A specification holds integers up to 2**53.");
    return number;
  }

  private string(): string {
    STRING.lastIndex = this.at;
    const found = STRING.exec(this.text);
    if (!found) this.fail();
    this.at += found[0].length;
    const text = JSON.parse(found[0]) as string;
    if (/[\ud800-\udfff]/u.test(text)) refuse("A specification holds text that UTF-8 cannot carry.");
    return text;
  }

  private list(depth: number): Plain[] {
    const items: Plain[] = [];
    this.take("[");
    if (this.peek() === "]") this.at++;
    else {
      do items.push(this.value(depth + 1));
      while (this.more("]"));
    }
    return items;
  }

  private object(depth: number): Spec {
    const found: Spec = Object.create(null);
    this.take("{");
    if (this.peek() === "}") this.at++;
    else {
      do {
        if (this.peek() !== '"') this.fail();
        const key = this.string();
        if (!/^[\0-\x7f]*$/.test(key)) refuse("The keys of a specification are ASCII texts.");
        if (key in found) refuse("A specification names a key twice.");
        this.take(":");
        found[key] = this.value(depth + 1);
      } while (this.more("}"));
    }
    return found;
  }

  private more(end: string): boolean {
    const next = this.peek();
    if (next !== "," && next !== end) this.fail();
    this.at++;
    return next === ",";
  }
}

const WORDS: [string, Plain][] = [
  ["true", true],
  ["false", false],
  ["null", null],
];
const INTEGER = /-?(?:0|[1-9][0-9]*)/y;
const STRING = /"(?:[^"\\\0-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/** Read a specification: a text, bytes, or plain data as `JSON.parse` returns it. */
export function parse(source: unknown): { spec: Spec; bytes: number } {
  let text: string;
  if (typeof source === "string") text = source;
  else if (source instanceof Uint8Array) {
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(source);
    } catch {
      return refuse("A specification must be JSON in UTF-8, without floats.");
    }
  } else {
    try {
      text = JSON.stringify(source, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value)) ?? "";
    } catch {
      return refuse("A specification must be plain data.");
    }
  }
  if (text.length > BYTES) refuse(`A specification has at most ${BYTES} bytes.`);
  const spec = new Reader(text).whole();
  if (!isSpec(spec)) refuse("A specification must be a JSON object.");
  return { spec, bytes: text.length };
}

export function isSpec(value: unknown): value is Spec {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The one text of a specification: keys sorted, no spaces. */
export function canonical(value: Plain): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (isSpec(value)) {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key]!)}`).join(",")}}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

export function canonicalBytes(value: Plain): Uint8Array {
  return utf8(canonical(value));
}

/** The values under exactly these keys. */
export function take(spec: unknown, owner: string, ...names: string[]): Plain[] {
  if (!isSpec(spec) || Object.keys(spec).length !== names.length || !names.every((name) => name in spec))
    refuse(`The specification of ${owner} has exactly the keys ${names.join(", ") || "of its kind"}.`);
  return names.map((name) => spec[name]!);
}

/** The kind of a part, and the rest of it; the kind must be one of a table. */
export function kindOf<T>(spec: unknown, key: string, table: { [kind: string]: T }, what: string): [T, Spec] {
  const kind = isSpec(spec) ? spec[key] : null;
  if (!isSpec(spec) || typeof kind !== "string" || !Object.hasOwn(table, kind))
    refuse(`${what} has a ${key} among ${Object.keys(table).join(", ")}.`);
  const rest: Spec = Object.create(null);
  for (const name of Object.keys(spec)) if (name !== key) rest[name] = spec[name]!;
  return [table[kind as string]!, rest];
}

export function integer(value: unknown, owner: string, name: string, least?: bigint, most?: bigint): bigint {
  if (typeof value !== "bigint") return refuse(`The '${name}' of ${owner} must be an integer.`);
  if ((least !== undefined && value < least) || (most !== undefined && value > most))
    refuse(`The '${name}' of ${owner} must be an integer in [${least}, ${most}].`);
  return value;
}

export function list(value: unknown, owner: string, name: string): Plain[] {
  return Array.isArray(value) ? value : refuse(`The '${name}' of ${owner} must be a list.`);
}

export function integers(value: unknown, owner: string, name: string, least?: bigint, most?: bigint): bigint[] {
  return list(value, owner, name).map((item) => integer(item, owner, name, least, most));
}

export function text(value: unknown, owner: string, name: string): string {
  return typeof value === "string" ? value : refuse(`The '${name}' of ${owner} must be a text.`);
}

export function texts(value: unknown, owner: string, name: string): string[] {
  return list(value, owner, name).map((item) => text(item, owner, name));
}
