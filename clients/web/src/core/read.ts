/** Reading the parts of a specification. What is being read is remembered, so that a refusal names it. */
import { need, refuse } from "./errors";
import { isSpec, type Plain, type Spec } from "./json";

export type Reader<T = any> = (value: any) => T;
export type Readers = { [name: string]: Reader };

let [owner, field] = ["", ""];

/** Refuse the part that is being read, because of one of its fields. */
export function valid(holds: unknown, name = field): void {
  need(holds, `The '${name}' of ${owner} is not valid.`);
}

export function ranged(value: unknown, least: bigint, most: bigint, name = field): bigint {
  if (typeof value !== "bigint" || value < least || value > most)
    refuse(`The '${name}' of ${owner} must be an integer in [${least}, ${most}].`);
  return value;
}

export function integer(least = -(1n << 53n), most = 1n << 53n): Reader<bigint> {
  return (value) => ranged(value, least, most);
}

/** A small integer. */
export function count(least: bigint, most: bigint): Reader<number> {
  return (value) => Number(ranged(value, least, most));
}

export function text(value: unknown): string {
  valid(typeof value === "string");
  return value as string;
}

export function flag(value: unknown): boolean {
  valid(typeof value === "boolean");
  return value as boolean;
}

export function listOf<T>(read: Reader<T>): Reader<T[]> {
  return (value) => {
    valid(Array.isArray(value));
    return value.map((one: Plain) => read(one));
  };
}

export function maybe<T>(read: Reader<T>): Reader<T | null> {
  return (value) => (value === null ? null : read(value));
}

/** The values under exactly these keys, beside the one that names the kind. */
export function record(spec: unknown, of: string, readers: Readers, tag?: string): { [name: string]: any } {
  // An interval may leave out its step.
  const names = Object.keys(readers).filter((name) => of !== "interval" || name !== "step" || name in (spec as Spec));
  if (!isSpec(spec) || Object.keys(spec).length !== names.length + Number(!!tag) || !names.every((name) => name in spec))
    refuse(`The specification of ${of} has exactly the keys ${[tag ?? [], names].flat().join(", ")}.`);
  const found: { [name: string]: any } = {};
  for (const name of names) {
    [owner, field] = [of, name];
    found[name] = readers[name]!(spec[name]);
  }
  owner = of;
  return found;
}

/** What can be read by its kind: the fields of each, in the order in which the constructor takes them. */
export type Kinds<T> = Map<string, [new (...values: any[]) => T, Readers]>;

export function define<T>(kinds: Kinds<T>, kind: string, made: new (...values: any[]) => T, readers: Readers): void {
  kinds.set(kind, [made, readers]);
}

/** Read a part by its kind, which stands under a key. */
export function kindFrom<T>(kinds: Kinds<T>, spec: unknown, tag: string, what: string): T {
  const kind = isSpec(spec) ? (spec[tag] as string) : "";
  const [Made, readers] = kinds.get(kind) ?? refuse(`The ${tag} of a ${what} is one of ${[...kinds.keys()].join(", ")}.`);
  return Object.assign(new Made(...Object.values(record(spec, kind, readers, tag))) as object, { kind, spec }) as T;
}

export function rising(values: readonly bigint[]): boolean {
  return values.every((one, place) => !place || one > values[place - 1]!);
}

export type { Spec };
