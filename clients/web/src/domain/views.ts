/** Texts, and views of answers. */
import type { Code } from "../channel/channel";
import { bitLength, ceilDiv, utf8 } from "../core/bytes";
import { decimal, decimalText } from "../core/decimal";
import { Fraction, larger, smallest, ZERO } from "../core/fraction";
import { define, integer, listOf, ranged, text, valid } from "../core/read";
import { sha256 } from "../core/sha256";
import { Circle, Domain, DOMAINS, domainFrom, Integers, Interval, MOST_CODES, MOST_TEXT, outside, type Range } from "./domain";

export abstract class View extends Domain {
  constructor(readonly seen: Domain) {
    super();
    this.of = seen;
  }
  override typed(written: string): unknown {
    return this.seen.typed(written);
  }
}

/** A view of a number. */
export abstract class NumberView extends View {
  constructor(override readonly seen: Range) {
    super(seen);
  }
  encode(value: unknown): Code {
    return this.code(this.seen.raw(value));
  }
  protected abstract code(number: Fraction): Code;
}

/** A domain of numbers. */
export function numeric(spec: unknown, circles = false): Range {
  const of = domainFrom(spec);
  valid(of instanceof Integers || of instanceof Interval || (circles && of instanceof Circle), "of");
  return of as Range;
}

class Bins extends NumberView {
  constructor(
    seen: Range,
    readonly edges: Fraction[],
  ) {
    super(seen);
    valid(
      edges.length > 0 &&
        edges.every((edge, place) => edge.compare(place ? edges[place - 1]! : seen.bottom) > 0) &&
        edges.at(-1)!.compare(seen.top) <= 0,
      "edges",
    );
    this.size = BigInt(edges.length + 1);
  }
  protected code(number: Fraction): bigint {
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
    const all = [this.seen.bottom, ...this.edges, this.seen.top].map(decimalText);
    const place = Number(code);
    return `[${all[place]}, ${all[place + 1]}${place === this.edges.length ? "]" : ")"}`;
  }
}

class Above extends NumberView {
  constructor(
    seen: Range,
    readonly threshold: Fraction,
  ) {
    super(seen);
    this.size = 2n;
  }
  protected code(number: Fraction): bigint {
    return BigInt(number.compare(this.threshold) >= 0);
  }
  override label(code: bigint): string {
    const written = decimalText(this.threshold);
    return code ? `${written} or above` : `below ${written}`;
  }
}

/** Any text; its code is a hash of 32 bits. */
class Text extends Domain {
  constructor(hash: string) {
    super();
    valid(hash === "sha256-32", "hash");
    this.size = MOST_CODES;
  }
  encode(value: unknown): bigint {
    if (typeof value !== "string" || value.length > 2 * MOST_TEXT || [...value].length > MOST_TEXT || /[\ud800-\udfff]/u.test(value))
      outside(`a text of at most ${MOST_TEXT} characters`);
    const digest = sha256(utf8(`sottovoce text 1|${value.normalize("NFC")}`));
    return BigInt(new DataView(digest.buffer).getUint32(0, true));
  }
}

export function finite(of: Domain): bigint {
  valid(of.size !== null && of.size <= MOST_CODES, "of");
  return of.size!;
}

/** The node of a hierarchy under which a code falls. */
class Level extends View {
  private readonly leaves: bigint;
  constructor(seen: Domain, branching: bigint, level: bigint) {
    super(seen);
    const size = finite(seen);
    let depth = 0n;
    while (branching ** depth < size) depth++;
    this.leaves = branching ** (depth - ranged(level, 1n, depth, "level"));
    this.size = ceilDiv(size, this.leaves);
  }
  encode(value: unknown): bigint {
    return (this.seen.encode(value) as bigint) / this.leaves;
  }
}

/** Codes that are merged into fewer parts. */
class Merged extends View {
  constructor(
    seen: Domain,
    private readonly parts: bigint[],
  ) {
    super(seen);
    const used = new Set(parts);
    this.size = BigInt(used.size);
    valid(finite(seen) === BigInt(parts.length) && parts.length <= MOST_MERGED, "parts");
    valid(used.size > 1 && parts.every((one) => one < this.size!), "parts");
  }
  encode(value: unknown): bigint {
    return this.parts[Number(this.seen.encode(value))]!;
  }
}

/** The leading bits of a code. */
class Prefix extends View {
  private readonly dropped: bigint;
  constructor(seen: Domain, bits: bigint) {
    super(seen);
    const last = finite(seen) - 1n;
    const length = BigInt(bitLength(last));
    this.dropped = length - ranged(bits, 1n, length, "bits");
    this.size = (last >> this.dropped) + 1n;
  }
  encode(value: unknown): bigint {
    return (this.seen.encode(value) as bigint) >> this.dropped;
  }
}

/** The square of a number's distance from a centre. */
class Square extends NumberView {
  constructor(
    seen: Range,
    readonly centre: Fraction,
  ) {
    super(seen);
    const ends = [seen.bottom, seen.top].map((end) => this.code(end));
    const inner = seen.bottom.compare(centre) < 0 && seen.top.compare(centre) > 0;
    this.numbers = { low: inner ? ZERO : smallest(ends), high: larger(ends[0]!, ends[1]!), origin: ZERO };
  }
  protected code(number: Fraction): Fraction {
    const away = number.minus(this.centre);
    return away.times(away);
  }
}

/** A number, and the square of its distance from a centre. */
class Powers extends View {
  constructor(seen: Range, centre: Fraction) {
    super(seen);
    this.sideBySide = [seen, new Square(seen, centre)];
  }
  encode(value: unknown): Code[] {
    return this.sideBySide!.map((part) => part.encode(value));
  }
}

/** A number of a wide range, moved to the nearest end of a narrow one. */
class Clamp extends NumberView {
  constructor(
    seen: Range,
    readonly low: Fraction,
    readonly high: Fraction,
  ) {
    super(seen);
    valid(seen.bottom.compare(low) <= 0 && low.compare(high) < 0 && high.compare(seen.top) <= 0, "low");
    this.numbers = { low, high, origin: ZERO };
  }
  protected code(number: Fraction): Fraction {
    return smallest([larger(number, this.low), this.high]);
  }
}

const number = { of: (spec: unknown): Range => numeric(spec) };
const MOST_MERGED = 1 << 14; // codes
const view = { of: domainFrom };
const small = integer(2n, 1n << 20n);
define(DOMAINS, "above", Above, { ...number, threshold: decimal });
define(DOMAINS, "bins", Bins, { of: (spec: unknown): Range => numeric(spec, true), edges: listOf(decimal) });
define(DOMAINS, "clamp", Clamp, { ...number, low: decimal, high: decimal });
define(DOMAINS, "level", Level, { ...view, branching: small, level: integer() });
define(DOMAINS, "merged", Merged, { ...view, "parts": listOf(integer(0n, BigInt(MOST_MERGED - 1))) }); // in quotes it keeps its name (private.mjs)
define(DOMAINS, "powers", Powers, { ...number, centre: decimal });
define(DOMAINS, "prefix", Prefix, { ...view, bits: integer() });
define(DOMAINS, "square", Square, { ...number, centre: decimal });
define(DOMAINS, "text", Text, { hash: text });
