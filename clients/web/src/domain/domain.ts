/** What a participant may hold. `encode` gives the code of a value, and refuses everything else in one sentence. */
import { decimal, decimalText, readDecimal } from "../core/decimal";
import { need, refuse, SottovoceError } from "../core/errors";
import { Fraction, ZERO } from "../core/fraction";
import { integer, kindOf, list, take, type Plain, type Spec } from "../core/json";
import { bitLength } from "../core/bytes";
import type { Code } from "../channel/channel";

export const MOST_CODES = 1n << 32n;
const MOST_INTEGER = 1n << 53n;
export const MOST_TEXT = 1000;

/** The codes of a domain of numbers: from `low` to `high`; the number itself is the code plus `origin`. */
export interface Numbers {
  low: Fraction;
  high: Fraction;
  origin: Fraction;
}

export abstract class Domain {
  abstract readonly kind: string;
  /** The domain in plain data. */
  abstract readonly spec: Spec;
  abstract encode(value: unknown): Code;

  get size(): bigint | null {
    return null;
  }
  get numbers(): Numbers | null {
    return null;
  }
  get coordinates(): readonly Domain[] | null {
    return null;
  }
  /** The domains of the parts of a code, where channels side by side read them. */
  get sideBySide(): readonly Domain[] | null {
    return null;
  }
  /** The domain that this is a view of. */
  get of(): Domain | null {
    return null;
  }
  /** A text for a code, for people. */
  label(code: bigint): string {
    return String(code);
  }
  /** The raw number behind a value, after the domain accepted it. */
  raw(_value: unknown): Fraction {
    return refuse("This view needs a domain of numbers.");
  }
  /** What a person typed, as a value; the domain checks it. */
  typed(written: string): unknown {
    return written;
  }
}

export function outside(mustBe: string): never {
  throw new SottovoceError("domain", `An answer must be ${mustBe}.`);
}

/** The number that a value is, exactly: a float is the shortest decimal that prints it. Null for anything else. */
export function exactNumber(value: unknown): Fraction | null {
  if (value instanceof Fraction) return value;
  if (typeof value === "bigint") return Fraction.of(value);
  return typeof value === "number" && Number.isFinite(value) ? readDecimal(String(value)) : null;
}

function wholeNumber(value: unknown): bigint | null {
  if (typeof value === "bigint") return value;
  if (value instanceof Fraction) return value.d === 1n ? value.n : null;
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : null;
}

export class Categories extends Domain {
  readonly kind = "categories";
  private readonly codes = new Map<string | bigint, bigint>();

  constructor(
    readonly spec: Spec,
    readonly values: (string | bigint)[],
  ) {
    super();
    const normal = new Set<string | bigint>();
    for (const value of values) {
      need(typeof value === typeof values[0], "Categories are texts only, or integers only.");
      if (typeof value === "string") need([...value].length <= MOST_TEXT, "The texts of categories are too long.");
      normal.add(typeof value === "string" ? value.normalize("NFC") : value);
      this.codes.set(value, BigInt(this.codes.size));
    }
    need(values.length >= 2 && normal.size === values.length, "Categories are at least two distinct values.");
  }

  override get size(): bigint {
    return BigInt(this.values.length);
  }
  encode(value: unknown): bigint {
    const key = typeof value === "string" ? value : wholeNumber(value);
    const code = key === null ? undefined : this.codes.get(key);
    return code ?? outside(`one of the ${this.values.length} categories`);
  }
  override label(code: bigint): string {
    return String(this.values[Number(code)]);
  }
  override typed(written: string): unknown {
    return typeof this.values[0] === "bigint" && /^\s*[+-]?\d{1,100}\s*$/.test(written) ? BigInt(written) : written;
  }

  static read(rest: Spec, spec: Spec): Categories {
    const values = list(take(rest, "categories", "values")[0], "categories", "values");
    for (const value of values)
      need(typeof value === "string" || typeof value === "bigint", "Categories are texts only, or integers only.");
    return new Categories(spec, values as (string | bigint)[]);
  }
}

export class Integers extends Domain {
  readonly kind = "integers";

  constructor(
    readonly spec: Spec,
    readonly low: bigint,
    readonly high: bigint,
  ) {
    super();
    need(low < high && high < low + MOST_CODES, "The 'high' of integers must be above low, by less than 2**32.");
  }

  override get size(): bigint {
    return this.high - this.low + 1n;
  }
  override get numbers(): Numbers {
    return { low: ZERO, high: Fraction.of(this.high - this.low), origin: Fraction.of(this.low) };
  }
  encode(value: unknown): bigint {
    const number = wholeNumber(value);
    if (number === null || number < this.low || number > this.high)
      outside(`a whole number in [${this.low}, ${this.high}]`);
    return number - this.low;
  }
  override raw(value: unknown): Fraction {
    return Fraction.of(this.low + this.encode(value));
  }
  override label(code: bigint): string {
    return String(this.low + code);
  }
  override typed(written: string): unknown {
    return readNumber(written);
  }

  static read(rest: Spec, spec: Spec): Integers {
    const [low, high] = take(rest, "integers", "low", "high");
    const ends = [low, high].map((end) => integer(end, "integers", "ends", -MOST_INTEGER, MOST_INTEGER));
    return new Integers(spec, ends[0]!, ends[1]!);
  }
}

function readNumber(written: string): unknown {
  const number = written.length <= 100 ? readDecimal(written.trim()) : null;
  return number ?? written;
}

export class Interval extends Domain {
  readonly kind = "interval";

  constructor(
    readonly spec: Spec,
    readonly low: Fraction,
    readonly high: Fraction,
  ) {
    super();
    need(low.compare(high) < 0, "The 'high' of an interval must be above its 'low'.");
  }

  override get numbers(): Numbers {
    return { low: this.low, high: this.high, origin: ZERO };
  }
  encode(value: unknown): Fraction {
    const number = exactNumber(value);
    if (!number || number.compare(this.low) < 0 || number.compare(this.high) > 0)
      outside(`a number in [${decimalText(this.low)}, ${decimalText(this.high)}]`);
    return number;
  }
  override raw(value: unknown): Fraction {
    return this.encode(value);
  }
  override typed(written: string): unknown {
    return readNumber(written);
  }

  static read(rest: Spec, spec: Spec): Interval {
    const [low, high] = take(rest, "interval", "low", "high");
    return new Interval(spec, decimal(low, "interval", "low"), decimal(high, "interval", "high"));
  }
}

/** A number that starts again after a period: both ends are the same point. */
export class Circle extends Domain {
  readonly kind = "circle";
  readonly low = ZERO;

  constructor(
    readonly spec: Spec,
    readonly high: Fraction,
  ) {
    super();
    need(high.n > 0n, "The 'period' of a circle must be above 0.");
  }

  encode(value: unknown): Fraction {
    const number = exactNumber(value);
    if (!number || number.n < 0n || number.compare(this.high) > 0) outside(`a number in [0, ${decimalText(this.high)}]`);
    return number.equals(this.high) ? ZERO : number;
  }
  override raw(value: unknown): Fraction {
    return this.encode(value);
  }
  override typed(written: string): unknown {
    return readNumber(written);
  }

  static read(rest: Spec, spec: Spec): Circle {
    return new Circle(spec, decimal(take(rest, "circle", "period")[0], "circle", "period"));
  }
}

/** A group and a value, both private. */
export class Pair extends Domain {
  readonly kind = "pair";

  constructor(
    readonly spec: Spec,
    readonly group: Domain,
    readonly value: Domain,
  ) {
    super();
    need((group.size ?? 0n) >= 2n, "The 'group' of a pair must have at least two and finitely many codes.");
    need(!(value instanceof Pair), "The 'value' of a pair must be a domain of single answers.");
  }

  encode(value: unknown): [Code, Code] {
    if (!Array.isArray(value) || value.length !== 2) outside("a pair of a group and a value");
    return [this.group.encode(value[0]), this.value.encode(value[1])];
  }

  static read(rest: Spec, spec: Spec): Pair {
    const [group, value] = take(rest, "pair", "group", "value");
    return new Pair(spec, domainFrom(group), domainFrom(value));
  }
}

// --- views ---------------------------------------------------------------------------------------------
export abstract class View extends Domain {
  constructor(
    readonly spec: Spec,
    private readonly seen: Domain,
  ) {
    super();
  }
  override get of(): Domain {
    return this.seen;
  }
  override typed(written: string): unknown {
    return this.of.typed(written);
  }
}

export function numeric(spec: Plain, circles = false): Integers | Interval {
  const of = domainFrom(spec);
  need(
    of instanceof Integers || of instanceof Interval || (circles && of instanceof Circle),
    "This view needs a domain of numbers.",
  );
  return of as Interval;
}

/** The ends of a domain of numbers, as numbers. */
export function ends(of: Integers | Interval | Circle): [Fraction, Fraction] {
  return of instanceof Integers ? [Fraction.of(of.low), Fraction.of(of.high)] : [of.low, of.high];
}

class Bins extends View {
  readonly kind = "bins";
  constructor(
    spec: Spec,
    of: Domain,
    readonly edges: Fraction[],
  ) {
    super(spec, of);
    const [low, high] = ends(of as Interval);
    need(
      edges.length > 0 &&
        edges.every((edge, place) => edge.compare(place ? edges[place - 1]! : low) > 0) &&
        edges[edges.length - 1]!.compare(high) <= 0,
      "The 'edges' of bins must be rising numbers inside the domain.",
    );
  }
  override get size(): bigint {
    return BigInt(this.edges.length + 1);
  }
  encode(value: unknown): bigint {
    const number = this.of.raw(value);
    let passed = 0;
    // Bisection with the same number of steps for every number.
    for (let power = bitLength(BigInt(this.edges.length)) - 1; power >= 0; power--) {
      const further = passed + 2 ** power;
      const reached = this.edges[Math.min(further, this.edges.length) - 1]!.compare(number) <= 0;
      passed += reached && further <= this.edges.length ? 2 ** power : 0;
    }
    return BigInt(passed);
  }
  override label(code: bigint): string {
    const all = [ends(this.of as Interval)[0], ...this.edges, ends(this.of as Interval)[1]].map(decimalText);
    const place = Number(code);
    return `[${all[place]}, ${all[place + 1]}${place === this.edges.length ? "]" : ")"}`;
  }
  static read(rest: Spec, spec: Spec): Bins {
    const [of, edges] = take(rest, "bins", "of", "edges");
    const listed = list(edges, "bins", "edges").map((edge) => decimal(edge, "bins", "edges"));
    return new Bins(spec, numeric(of!, true), listed);
  }
}

class Above extends View {
  readonly kind = "above";
  constructor(
    spec: Spec,
    of: Domain,
    readonly threshold: Fraction,
  ) {
    super(spec, of);
  }
  override get size(): bigint {
    return 2n;
  }
  encode(value: unknown): bigint {
    return BigInt(this.of.raw(value).compare(this.threshold) >= 0);
  }
  override label(code: bigint): string {
    const written = decimalText(this.threshold);
    return code ? `${written} or above` : `below ${written}`;
  }
  static read(rest: Spec, spec: Spec): Above {
    const [of, threshold] = take(rest, "above", "of", "threshold");
    return new Above(spec, numeric(of!), decimal(threshold, "above", "threshold"));
  }
}

export type DomainReader = (rest: Spec, spec: Spec) => Domain;
export const DOMAINS: { [kind: string]: DomainReader } = Object.assign(Object.create(null), {
  above: Above.read,
  bins: Bins.read,
  categories: Categories.read,
  circle: Circle.read,
  integers: Integers.read,
  interval: Interval.read,
  pair: Pair.read,
});

export function domainFrom(spec: unknown): Domain {
  const [read, rest] = kindOf(spec, "kind", DOMAINS, "The domain of a specification");
  return read(rest, spec as Spec);
}

/** The domain of the raw answer, under all views. */
export function rootOf(domain: Domain): Domain {
  return domain.of ? rootOf(domain.of) : domain;
}
