/** What a participant may hold. `encode` gives the code of a value, and refuses everything else in one sentence. */
import { ceilDiv, floorDiv, mod } from "../core/bytes";
import { decimal, decimalText, readDecimal } from "../core/decimal";
import { need, refuse, SottovoceError } from "../core/errors";
import { Fraction, ZERO } from "../core/fraction";
import { canonical, integer, isSpec, kindOf, list, take, text, texts, type Plain, type Spec } from "../core/json";
import { bitLength, utf8 } from "../core/bytes";
import { sha256 } from "../core/sha256";
import type { Code } from "../channel/channel";

const MOST_CODES = 1n << 32n;
const MOST_INTEGER = 1n << 53n;
const MOST_TEXT = 1000;

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

export class Record extends Domain {
  readonly kind = "record";

  constructor(
    readonly spec: Spec,
    readonly fields: [string, Domain][],
  ) {
    super();
    need(fields.length > 0 && new Set(fields.map(([name]) => name)).size === fields.length, "A record has distinct fields.");
  }

  override get coordinates(): readonly Domain[] {
    return this.fields.map(([, domain]) => domain);
  }
  encode(value: unknown): Code[] {
    const names = this.fields.map(([name]) => name);
    const held = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
    if (Object.keys(held).length !== names.length || !names.every((name) => Object.hasOwn(held, name)))
      outside(`a record of ${names.join(", ")}`);
    return this.fields.map(([name, domain]) => domain.encode((held as { [name: string]: unknown })[name]));
  }

  static read(rest: Spec, spec: Spec): Record {
    const fields = list(take(rest, "record", "fields")[0], "record", "fields");
    const read = fields.map((field): [string, Domain] => {
      const [name, domain] = take(field, "a record's field", "name", "domain");
      return [text(name, "a record's field", "name"), domainFrom(domain)];
    });
    return new Record(spec, read);
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

/** Any text; its code is a hash of 32 bits. */
class Text extends Domain {
  readonly kind = "text";
  constructor(readonly spec: Spec) {
    super();
  }
  override get size(): bigint {
    return MOST_CODES;
  }
  encode(value: unknown): bigint {
    if (typeof value !== "string" || value.length > 2 * MOST_TEXT || [...value].length > MOST_TEXT || /[\ud800-\udfff]/u.test(value))
      outside(`a text of at most ${MOST_TEXT} characters`);
    const digest = sha256(utf8(`sottovoce text 1|${value.normalize("NFC")}`));
    return BigInt(new DataView(digest.buffer).getUint32(0, true));
  }

  static read(rest: Spec, spec: Spec): Text {
    need(take(rest, "text", "hash")[0] === "sha256-32", "The hash of a text domain must be sha256-32.");
    return new Text(spec);
  }
}

// --- views ---------------------------------------------------------------------------------------------
abstract class View extends Domain {
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

function numeric(spec: Plain, circles = false): Integers | Interval {
  const of = domainFrom(spec);
  need(
    of instanceof Integers || of instanceof Interval || (circles && of instanceof Circle),
    "This view needs a domain of numbers.",
  );
  return of as Interval;
}

/** The ends of a domain of numbers, as numbers. */
function ends(of: Integers | Interval | Circle): [Fraction, Fraction] {
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

function finite(of: Domain): bigint {
  need(of.size !== null && of.size <= MOST_CODES, "This view needs a domain with at most 2**32 codes.");
  return of.size!;
}

/** The node of a hierarchy under which a code falls. */
class Level extends View {
  readonly kind = "level";
  private readonly leaves: bigint;
  constructor(spec: Spec, of: Domain, branching: bigint, level: bigint) {
    super(spec, of);
    integer(branching, "level", "branching", 2n, 1n << 20n);
    let depth = 0n;
    while (branching ** depth < finite(of)) depth++;
    integer(level, "level", "level", 1n, depth);
    this.leaves = branching ** (depth - level);
  }
  override get size(): bigint {
    return ceilDiv(finite(this.of), this.leaves);
  }
  encode(value: unknown): bigint {
    return (this.of.encode(value) as bigint) / this.leaves;
  }
  static read(rest: Spec, spec: Spec): Level {
    const [of, branching, level] = take(rest, "level", "of", "branching", "level");
    return new Level(spec, domainFrom(of), integer(branching, "level", "branching"), integer(level, "level", "level"));
  }
}

/** The leading bits of a code. */
class Prefix extends View {
  readonly kind = "prefix";
  private readonly dropped: bigint;
  constructor(spec: Spec, of: Domain, bits: bigint) {
    super(spec, of);
    const length = BigInt(bitLength(finite(of) - 1n));
    this.dropped = length - integer(bits, "prefix", "bits", 1n, length);
  }
  override get size(): bigint {
    return ((finite(this.of) - 1n) >> this.dropped) + 1n;
  }
  encode(value: unknown): bigint {
    return (this.of.encode(value) as bigint) >> this.dropped;
  }
  static read(rest: Spec, spec: Spec): Prefix {
    const [of, bits] = take(rest, "prefix", "of", "bits");
    return new Prefix(spec, domainFrom(of), integer(bits, "prefix", "bits"));
  }
}

function chosenFields(rest: Spec, owner: string): [Record, string[]] {
  const [spec, names] = take(rest, owner, "of", "names");
  const of = domainFrom(spec);
  const chosen = texts(names, owner, "names");
  need(
    of instanceof Record &&
      chosen.length > 0 &&
      new Set(chosen).size === chosen.length &&
      chosen.every((name) => of.fields.some(([known]) => known === name)),
    `The 'names' of ${owner} must be distinct fields of a record.`,
  );
  return [of as Record, chosen];
}

/** Some fields of a record, as one code: the cell of their contingency table, last field fastest. */
class Select extends View {
  readonly kind = "select";
  private readonly chosen: [number, Domain][];
  constructor(spec: Spec, record: Record, names: string[]) {
    super(spec, record);
    this.chosen = names.map((name) => {
      const place = record.fields.findIndex(([known]) => known === name);
      return [place, record.fields[place]![1]];
    });
    need(names.length === 1 || this.chosen.every(([, one]) => one.size !== null), "Selected fields have no list of codes.");
  }
  override get size(): bigint | null {
    let found: bigint | null = 1n;
    for (const [, domain] of this.chosen) found = found === null || domain.size === null ? null : found * domain.size;
    return found;
  }
  override get numbers(): Numbers | null {
    return this.chosen.length === 1 ? this.chosen[0]![1].numbers : null;
  }
  encode(value: unknown): Code {
    const codes = this.of.encode(value) as Code[];
    if (this.chosen.length === 1) return codes[this.chosen[0]![0]];
    return this.chosen.reduce((cell, [place, domain]) => cell * finite(domain) + codes[place], 0n);
  }
  static read(rest: Spec, spec: Spec): Select {
    return new Select(spec, ...chosenFields(rest, "select"));
  }
}

/** Some fields of a record, side by side. */
export class Fields extends View {
  readonly kind = "fields";
  readonly fields: [string, Domain][];
  constructor(
    spec: Spec,
    readonly record: Record,
    readonly names: string[],
  ) {
    super(spec, record);
    this.fields = names.map((name) => record.fields.find(([known]) => known === name)!);
  }
  override get coordinates(): readonly Domain[] {
    return this.fields.map(([, domain]) => domain);
  }
  encode(value: unknown): Code[] {
    const codes = this.record.encode(value);
    return this.names.map((name) => codes[this.record.fields.findIndex(([known]) => known === name)]);
  }
  static read(rest: Spec, spec: Spec): Fields {
    return new Fields(spec, ...chosenFields(rest, "fields"));
  }
}

/** The square of a number's distance from a centre. */
class Square extends View {
  readonly kind = "square";
  constructor(
    spec: Spec,
    of: Domain,
    readonly centre: Fraction,
  ) {
    super(spec, of);
  }
  override get numbers(): Numbers {
    const [low, high] = ends(this.of as Interval).map((end) => end.minus(this.centre)) as [Fraction, Fraction];
    const squares = [low.times(low), high.times(high)].sort((a, b) => a.compare(b));
    return { low: low.n < 0n && high.n > 0n ? ZERO : squares[0]!, high: squares[1]!, origin: ZERO };
  }
  encode(value: unknown): Fraction {
    const away = this.of.raw(value).minus(this.centre);
    return away.times(away);
  }
  static read(rest: Spec, spec: Spec): Square {
    const [of, centre] = take(rest, "square", "of", "centre");
    return new Square(spec, numeric(of!), decimal(centre, "square", "centre"));
  }
}

/** A number, and the square of its distance from a centre. */
export class Powers extends View {
  readonly kind = "powers";
  readonly both: [Domain, Domain];
  constructor(spec: Spec, of: Domain, centre: Fraction) {
    super(spec, of);
    this.both = [of, new Square(spec, of, centre)];
  }
  encode(value: unknown): Code[] {
    return this.both.map((part) => part.encode(value));
  }
  static read(rest: Spec, spec: Spec): Powers {
    const [of, centre] = take(rest, "powers", "of", "centre");
    return new Powers(spec, numeric(of!), decimal(centre, "powers", "centre"));
  }
}

/** A number of a wide range, moved to the nearest end of a narrow one. */
class Clamp extends View {
  readonly kind = "clamp";
  constructor(
    spec: Spec,
    of: Domain,
    readonly low: Fraction,
    readonly high: Fraction,
  ) {
    super(spec, of);
    const [least, most] = ends(of as Interval);
    need(least.compare(low) <= 0 && low.compare(high) < 0 && high.compare(most) <= 0, "A clamp lies inside its domain.");
  }
  override get numbers(): Numbers {
    return { low: this.low, high: this.high, origin: ZERO };
  }
  encode(value: unknown): Fraction {
    const number = this.of.raw(value);
    const above = number.compare(this.low) < 0 ? this.low : number;
    return above.compare(this.high) > 0 ? this.high : above;
  }
  static read(rest: Spec, spec: Spec): Clamp {
    const [of, low, high] = take(rest, "clamp", "of", "low", "high");
    return new Clamp(spec, numeric(of!), decimal(low, "clamp", "low"), decimal(high, "clamp", "high"));
  }
}

/** In which of some repeating cells a number lies. */
class Digit extends View {
  readonly kind = "digit";
  constructor(
    spec: Spec,
    of: Domain,
    readonly width: Fraction,
    readonly base: bigint,
    readonly origin: Fraction,
  ) {
    super(spec, of);
    need(width.n > 0n, "The 'width' of a digit must be above 0.");
  }
  override get size(): bigint {
    return this.base;
  }
  encode(value: unknown): bigint {
    const from = this.of.raw(value).minus(this.origin).over(this.width);
    return mod(floorDiv(from.n, from.d), this.base);
  }
  static read(rest: Spec, spec: Spec): Digit {
    const [of, width, base, origin] = take(rest, "digit", "of", "width", "base", "origin");
    const cells = integer(base, "digit", "base", 2n, 1n << 20n);
    return new Digit(spec, numeric(of!), decimal(width, "digit", "width"), cells, decimal(origin, "digit", "origin"));
  }
}

export type DomainReader = (rest: Spec, spec: Spec) => Domain;
export const DOMAINS: { [kind: string]: DomainReader } = Object.assign(Object.create(null), {
  above: Above.read,
  bins: Bins.read,
  categories: Categories.read,
  circle: Circle.read,
  clamp: Clamp.read,
  digit: Digit.read,
  fields: Fields.read,
  integers: Integers.read,
  interval: Interval.read,
  level: Level.read,
  pair: Pair.read,
  powers: Powers.read,
  prefix: Prefix.read,
  record: Record.read,
  select: Select.read,
  square: Square.read,
  text: Text.read,
});

export function domainFrom(spec: unknown): Domain {
  const [read, rest] = kindOf(spec, "kind", DOMAINS, "The domain of a specification");
  return read(rest, spec as Spec);
}

/** The domain of the raw answer, under all views. */
export function rootOf(domain: Domain): Domain {
  return domain.of ? rootOf(domain.of) : domain;
}

export function sameDomain(left: Domain, right: Domain): boolean {
  return isSpec(left.spec) && canonical(left.spec) === canonical(right.spec);
}
