/** What a participant may hold. `encode` gives the code of a value, and refuses everything else in one sentence. */
import { decimal, decimalText, readDecimal } from "../core/decimal";
import { refuse } from "../core/errors";
import { Fraction, ONE, ZERO } from "../core/fraction";
import type { Spec } from "../core/json";
import { define, integer, kindFrom, listOf, valid, type Kinds } from "../core/read";
import type { Code } from "../channel/channel";

export const MOST_CODES = 1n << 32n;
export const MOST_TEXT = 1000;

/** The codes of a domain of numbers: from `low` to `high`; the number itself is the code plus `origin`. */
export interface Numbers {
  low: Fraction;
  high: Fraction;
  origin: Fraction;
}

export abstract class Domain {
  declare kind: string;
  /** The domain in plain data. */
  declare spec: Spec;
  size: bigint | null = null;
  numbers: Numbers | null = null;
  coordinates: readonly Domain[] | null = null;
  /** The domains of the parts of a code, where channels side by side read them. */
  sideBySide: readonly Domain[] | null = null;
  /** The number of items, and the most of them in an answer, where an answer is a set. */
  ticks: string | null = null;
  /** The domain that this is a view of. */
  of: Domain | null = null;

  abstract encode(value: unknown): Code;
  /** A text for a code, for people. */
  label(code: bigint): string {
    return String(code);
  }
  /** The parts of a record. */
  declare fields?: { name: string; domain: Domain }[];
  /** The parts of a record that a view shows. */
  declare names?: string[];
  /** The domain of a field of a record; of other domains, and of unknown fields, the domain itself. */
  field(wanted?: string): Domain {
    return this.fields?.find((one) => one.name === wanted)?.domain ?? this;
  }
  /** The raw number behind a value, after the domain accepted it. */
  raw(value: unknown): Fraction {
    return this.encode(value);
  }
  /** What a person typed, as a value; the domain checks it. */
  typed(written: string, _group?: string): unknown {
    return written;
  }
}

export function outside(mustBe: string): never {
  return refuse(`An answer must be ${mustBe}.`, "domain");
}

/** The number that a value is, exactly: a float is the shortest decimal that prints it. Null for anything else. */
export function exactNumber(value: unknown): Fraction | null {
  if (value instanceof Fraction) return value;
  if (typeof value === "bigint") return Fraction.of(value);
  return typeof value === "number" && Number.isFinite(value) ? readDecimal(String(value)) : null;
}

function wholeNumber(value: unknown): bigint | null {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : null;
  const exact = exactNumber(value);
  return exact?.d === 1n ? exact.n : null;
}

export class Categories extends Domain {
  private readonly codes = new Map<string | bigint, bigint>();

  constructor(readonly values: (string | bigint)[]) {
    super();
    const normal = new Set<string | bigint>();
    for (const value of values) {
      valid(typeof value === typeof values[0], "values");
      if (typeof value === "string") valid([...value].length <= MOST_TEXT, "values");
      normal.add(typeof value === "string" ? value.normalize("NFC") : value);
      this.codes.set(value, BigInt(this.codes.size));
    }
    valid(values.length >= 2 && normal.size === values.length, "values");
    this.size = BigInt(values.length);
  }

  encode(value: unknown): bigint {
    const key = typeof value === "string" ? value : wholeNumber(value);
    return this.codes.get(key!) ?? outside(`one of the ${this.size} categories`);
  }
  override label(code: bigint): string {
    return String(this.values[Number(code)]);
  }
  override typed(written: string): unknown {
    return typeof this.values[0] === "bigint" && /^\s*[+-]?\d{1,100}\s*$/.test(written) ? BigInt(written) : written;
  }
}

/** Whether a number lies whole steps after another; without a step any does. */
function steps(from: Fraction, to: Fraction, step?: Fraction): boolean {
  return !step || to.minus(from).over(step).d === 1n;
}

/** Numbers in a range. */
export abstract class Range extends Domain {
  constructor(
    readonly bottom: Fraction,
    readonly top: Fraction,
    name: string,
    readonly step?: Fraction,
  ) {
    super();
    valid(bottom.compare(top) < 0, name);
    valid(!step || (step.n > 0n && steps(bottom, top, step)), "step");
  }

  /** The number that a value is; only whole steps from the start on, where there is a step. */
  protected inside(value: unknown, what: string): Fraction {
    const number = exactNumber(value);
    const { bottom, top, step } = this;
    if (!number || number.compare(bottom) < 0 || number.compare(top) > 0 || !steps(bottom, number, step))
      outside(
        `a ${what}number in [${decimalText(bottom)}, ${decimalText(top)}]` +
          (what || !step ? "" : ` in steps of ${decimalText(step)}`),
      );
    return number;
  }
  override typed(written: string): unknown {
    return (written.length <= 100 ? readDecimal(written.trim()) : null) ?? written;
  }
}

export class Integers extends Range {
  constructor(
    readonly low: bigint,
    readonly high: bigint,
  ) {
    super(Fraction.of(low), Fraction.of(high), "high", ONE);
    valid(high < low + MOST_CODES, "high");
    this.size = high - low + 1n;
    this.numbers = { low: ZERO, high: Fraction.of(high - low), origin: this.bottom };
  }
  encode(value: unknown): bigint {
    return this.raw(value).n - this.low;
  }
  override raw(value: unknown): Fraction {
    return this.inside(typeof value === "number" ? wholeNumber(value) : value, "whole ");
  }
  override label(code: bigint): string {
    return String(this.low + code);
  }
}

export class Interval extends Range {
  constructor(
    readonly low: Fraction,
    readonly high: Fraction,
    step?: Fraction,
  ) {
    super(low, high, "high", step);
    this.numbers = { low, high, origin: ZERO };
  }
  encode(value: unknown): Fraction {
    return this.inside(value, "");
  }
}

/** A number that starts again after a period: both ends are the same point. */
export class Circle extends Range {
  constructor(readonly high: Fraction) {
    super(ZERO, high, "period");
  }
  encode(value: unknown): Fraction {
    const number = this.inside(value, "");
    return number.equals(this.high) ? ZERO : number;
  }
}

/** A group and a value, both private. */
export class Pair extends Domain {
  constructor(
    readonly group: Domain,
    readonly value: Domain,
  ) {
    super();
    valid((group.size ?? 0n) >= 2n, "group");
    valid(!(value instanceof Pair), "value");
  }

  override typed(written: string, group = ""): unknown {
    return [this.group.typed(group), this.value.typed(written)];
  }
  encode(value: unknown): [Code, Code] {
    if (!Array.isArray(value) || value.length !== 2) outside("a pair of a group and a value");
    return [this.group.encode(value[0]), this.value.encode(value[1])];
  }
}

export const DOMAINS: Kinds<Domain> = new Map();

export function domainFrom(spec: unknown): Domain {
  return kindFrom(DOMAINS, spec, "kind", "domain");
}

/** The domain of the raw answer, under all views. */
export function rootOf(domain: Domain): Domain {
  return domain.of ? rootOf(domain.of) : domain;
}

const end = integer();
define(DOMAINS, "categories", Categories, {
  values: listOf((value) => (typeof value === "string" ? value : end(value))),
});
define(DOMAINS, "integers", Integers, { low: end, high: end });
define(DOMAINS, "interval", Interval, { low: decimal, high: decimal, "step": decimal }); // in quotes it keeps its name (private.mjs)
define(DOMAINS, "circle", Circle, { period: decimal });
define(DOMAINS, "pair", Pair, { group: domainFrom, value: domainFrom });
