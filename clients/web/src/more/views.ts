/** Records, texts, and views of answers that few studies use. */
import type { Code } from "../channel/channel";
import { bitLength, ceilDiv, floorDiv, mod, utf8 } from "../core/bytes";
import { decimal } from "../core/decimal";
import { need } from "../core/errors";
import { Fraction, ZERO } from "../core/fraction";
import { integer, list, take, text, texts, type Spec } from "../core/json";
import { sha256 } from "../core/sha256";
import { Domain, DOMAINS, domainFrom, ends, MOST_CODES, MOST_TEXT, numeric, outside, View, type Interval, type Numbers } from "../domain/domain";

class Record extends Domain {
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
  override get sideBySide(): readonly Domain[] {
    return this.coordinates;
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
class Fields extends View {
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
  override get sideBySide(): readonly Domain[] {
    return this.coordinates;
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
class Powers extends View {
  readonly kind = "powers";
  readonly both: [Domain, Domain];
  constructor(spec: Spec, of: Domain, centre: Fraction) {
    super(spec, of);
    this.both = [of, new Square(spec, of, centre)];
  }
  override get sideBySide(): readonly Domain[] {
    return this.both;
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

Object.assign(DOMAINS, {
  clamp: Clamp.read,
  digit: Digit.read,
  fields: Fields.read,
  level: Level.read,
  powers: Powers.read,
  prefix: Prefix.read,
  record: Record.read,
  select: Select.read,
  square: Square.read,
  text: Text.read,
});
