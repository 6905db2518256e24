/** Nodes that are made of other nodes. */
import { low, running, sum, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { need, refuse } from "../core/errors";
import { derivedWords } from "../core/field";
import { Fraction, largest, ONE, total, units, ZERO } from "../core/fraction";
import { integers, kindOf, take, type Spec } from "../core/json";
import { Bits } from "./bits";
import { Channel, channelFrom, checkMemos, infinite, NO_WORDS, NODES, type Code, type Words } from "./channel";
import { Subset, Table } from "./finite";
import { MAPS, type PublicMap } from "./maps";
import { number, Rounding, widthOf } from "./numeric";

const MOST_CELLS = 1n << 18n;

/** A channel of a vector may know its own ratio before a second stage. */
interface BeforeSecond {
  ratioBefore?(second: Channel): Fraction | null;
}

// --- one channel after another -------------------------------------------------------------------------
/** How many numbers have the channel's width, reports or not. */
function reports(channel: Channel): bigint {
  if (channel.outputs !== null) return channel.outputs;
  need(channel.payloadBits <= 1 << 16, "Reports are too long to be codes of another channel.");
  return 1n << BigInt(channel.payloadBits);
}

export abstract class Composed extends Channel {
  constructor(
    readonly first: Channel,
    readonly second: Channel,
  ) {
    super();
    need(
      reports(first) === second.inputs && second.codesAreIndices && !first.publics,
      "The reports of the first channel must be the codes of the second, which alone may read public words.",
    );
  }

  override get parts(): readonly Channel[] {
    return [this.first, this.second];
  }
  get inputs(): bigint {
    return this.first.inputs;
  }
  override codes(): Iterable<Code> {
    return this.first.codes();
  }
  override get codesAreIndices(): boolean {
    return this.first.codesAreIndices;
  }
  override get rounding(): Rounding | null {
    return this.first.rounding;
  }
  override get dimensions(): number | null {
    return this.first.dimensions;
  }
  override get sparse(): string | null {
    return this.first.sparse;
  }
  get words(): number {
    return this.first.words + this.second.words;
  }
  get payloadBits(): number {
    return this.second.payloadBits;
  }
  override get outputs(): bigint | null {
    return this.second.outputs;
  }
  override get publics(): number {
    return this.second.publics;
  }
  override accepts(words: Words): boolean {
    return this.second.accepts(words);
  }
  contains(report: bigint): boolean {
    return this.second.contains(report);
  }

  sample(code: Code, coins: Coins, words: Words = NO_WORDS): bigint {
    return this.second.sample(this.first.sample(code, coins), coins, words);
  }

  likelihood(report: bigint, code: Code, words: Words = NO_WORDS): Fraction {
    let [from, to] = [0n, this.second.inputs];
    if (this.first instanceof Rounding) {
      from = number(code).minus(this.first.low).over(this.first.step).floor();
      to = from + 2n < to ? from + 2n : to;
    } else if (to > MOST_CELLS) refuse("The law of this composition is too large to sum up.");
    const terms: Fraction[] = [];
    for (let between = from; between < to; between++)
      if (this.first.contains(between))
        terms.push(this.first.likelihood(between, code).times(this.second.likelihood(report, between, words)));
    return total(terms);
  }

  protected ratioByEntry(): Fraction {
    if (this.publics || products(this) > MOST_CELLS) refuse("This composition is too large to find its ratio.");
    const law = matrix(this);
    let worst = ONE;
    law[0]!.forEach((_, y) => {
      const column = law.map((row) => row[y]!);
      const most = largest(column, ZERO);
      if (!most.n) return;
      for (const one of column) {
        if (!one.n) infinite();
        const found = most.over(one);
        if (found.compare(worst) > 0) worst = found;
      }
    });
    return worst;
  }
}

/** The law, one row per code. Each composition is multiplied once, at any depth of nesting. */
function matrix(channel: Channel): Fraction[][] {
  if (channel instanceof Composed) {
    const [first, second] = [matrix(channel.first), matrix(channel.second)];
    return first.map((row) => second[0]!.map((_, y) => total(row.map((one, between) => one.times(second[between]![y]!)))));
  }
  const rows: Fraction[][] = [];
  const outputs = reports(channel);
  for (const code of channel.codes()) {
    const row: Fraction[] = [];
    for (let y = 0n; y < outputs; y++) row.push(channel.contains(y) ? channel.likelihood(y, code) : ZERO);
    rows.push(row);
  }
  return rows;
}

function products(channel: Channel): bigint {
  const cells = channel.inputs * reports(channel);
  if (!(channel instanceof Composed)) return cells;
  return cells * channel.second.inputs + products(channel.first) + products(channel.second);
}

export class Then extends Composed {
  readonly kind = "then";

  constructor(first: Channel, second: Channel) {
    super(first, second);
    checkMemos(this);
  }

  ratio(): Fraction {
    const { first, second } = this;
    if (first instanceof Rounding || (first instanceof Table && first.reachesEveryOutput())) return second.ratio();
    return (first as BeforeSecond).ratioBefore?.(second) ?? this.ratioByEntry();
  }

  /** After a rounding those of the second: between grid points laws are mixed. */
  override extremes(): [Fraction[], Fraction[]] {
    return this.first instanceof Rounding ? this.second.extremes() : super.extremes();
  }

  static read(fields: Spec): Then {
    const [first, second] = take(fields, "then", "first", "second");
    return new Then(channelFrom(first), channelFrom(second));
  }
}

export function plain(channel: Channel): boolean {
  return !channel.publics && !channel.stages;
}

// --- choices -------------------------------------------------------------------------------------------
/** A group is randomized; if the result supports the true group the randomized value is sent, else a neutral draw. */
class Keyed extends Channel {
  readonly kind = "keyed";
  private readonly cumulative: bigint[];
  private readonly wide: bigint;

  constructor(
    readonly key: Subset | Bits,
    readonly inner: Channel,
    readonly neutral: bigint[],
  ) {
    super();
    const bits = key instanceof Bits && key.encoding === "onehot" && !key.vary;
    need(key instanceof Subset || bits, "The key of a keyed channel must be a subset, or bits with two rates.");
    need(
      plain(inner) && inner.outputs !== null && (inner.rounding !== null || inner.codesAreIndices),
      "The inner channel of a keyed one must have numbered outputs, no public words and no memo.",
    );
    this.wide = BigInt(neutral.length);
    need(
      this.wide === inner.outputs &&
        sum(neutral) === UNIT &&
        neutral.every((weight, y) => (weight > 0n) === inner.contains(BigInt(y))),
      "The neutral law must have a weight for each inner output, positive if it can be reported, and sum to 2**53.",
    );
    this.cumulative = running(neutral);
  }

  override get parts(): readonly Channel[] {
    return [this.key, this.inner];
  }
  get inputs(): bigint {
    return this.key.inputs * this.inner.inputs;
  }
  override get codesAreIndices(): boolean {
    return false;
  }
  override *codes(): Iterable<Code> {
    for (const group of this.key.codes()) for (const value of this.inner.codes()) yield [group, value];
  }
  get words(): number {
    return this.key.words + this.inner.words + 1;
  }
  override get outputs(): bigint | null {
    return this.key.outputs === null ? null : this.key.inputs * this.wide;
  }
  get payloadBits(): number {
    return this.outputs === null ? this.key.payloadBits + this.inner.payloadBits : widthOf(this.outputs);
  }

  sample(code: Code, coins: Coins): bigint {
    const [group, value] = code;
    const begin = coins.position;
    const key = this.key.sample(group, coins);
    const supported = this.key.supports(key, group);
    coins.seek(begin + this.key.words);
    const within = coins.when(supported, (source) => this.inner.sample(value, source));
    coins.seek(begin + this.words - 1);
    const neutral = coins.when(!supported, (source) => BigInt(source.pick(this.cumulative)));
    const drawn = supported ? within : neutral;
    return this.outputs === null ? (key << BigInt(this.inner.payloadBits)) | drawn : key * this.wide + drawn;
  }

  split(report: bigint): [bigint, bigint] {
    if (this.outputs !== null) return [report / this.wide, report % this.wide];
    return [report >> BigInt(this.inner.payloadBits), report & low(this.inner.payloadBits)];
  }

  contains(report: bigint): boolean {
    if (report < 0n) return false;
    const [key, within] = this.split(report);
    return this.key.contains(key) && this.inner.contains(within);
  }

  ratio(): Fraction {
    const key = this.key.ratio();
    const [most, least] = this.inner.extremes();
    let worst = this.inner.ratio();
    const seen = new Set<string>();
    this.neutral.forEach((weight, y) => {
      const name = `${most[y]!.text()} ${least[y]!.text()} ${weight}`;
      if (!weight || seen.has(name)) return; // most outputs are alike
      seen.add(name);
      const one = units(weight);
      worst = largest([key.times(most[y]!).over(one), one.over(least[y]!).over(key)], worst);
    });
    return worst;
  }

  likelihood(report: bigint, code: Code): Fraction {
    const [key, within] = this.split(report);
    const law = this.key.supports(key, code[0])
      ? this.inner.likelihood(within, code[1])
      : units(this.neutral[Number(within)]!);
    return this.key.likelihood(key, code[0]).times(law);
  }

  static read(fields: Spec): Keyed {
    const [key, inner, neutral] = take(fields, "keyed", "key", "inner", "neutral");
    return new Keyed(channelFrom(key) as Subset, channelFrom(inner), integers(neutral, "keyed", "neutral", 0n, UNIT));
  }
}

// --- public maps ---------------------------------------------------------------------------------------
/** A map chosen by public words, which are the report's id, then an inner channel on the mapped code. */
export class Public extends Channel {
  readonly kind: string = "public";

  constructor(
    readonly map: PublicMap,
    readonly inner: Channel,
  ) {
    super();
    need(
      map.outputs === inner.inputs && inner.codesAreIndices,
      "The values of a public map must be the codes of its inner channel.",
    );
    checkMemos(this);
  }

  protected read(words: Words): Words {
    return derivedWords(words, this.inner.publics);
  }
  private mapped(code: bigint, words: Words): bigint {
    return this.map.apply(this.read(words), code);
  }
  override get parts(): readonly Channel[] {
    return [this.inner];
  }
  get inputs(): bigint {
    return this.map.inputs;
  }
  get words(): number {
    return this.inner.words;
  }
  get payloadBits(): number {
    return this.inner.payloadBits;
  }
  override get outputs(): bigint | null {
    return this.inner.outputs;
  }
  override get publics(): number {
    return this.inner.publics + 1;
  }
  override get tries(): Fraction {
    return this.map.tries;
  }

  sample(code: bigint, coins: Coins, words: Words = NO_WORDS): bigint {
    return this.inner.sample(this.mapped(code, words), coins, this.inner.publics ? words : NO_WORDS);
  }
  contains(report: bigint): boolean {
    return this.inner.contains(report);
  }
  override accepts(words: Words): boolean {
    return this.map.accepts(this.read(words)) && this.inner.accepts(words);
  }
  ratio(): Fraction {
    return this.inner.ratio();
  }
  likelihood(report: bigint, code: bigint, words: Words = NO_WORDS): Fraction {
    return this.inner.likelihood(report, this.mapped(code, words), words);
  }

  static parts(fields: Spec, owner: string): [PublicMap, Channel] {
    const [spec, inner] = take(fields, owner, "map", "inner");
    const [read, rest] = kindOf(spec, "kind", MAPS, "The map of a public channel");
    return [read(rest), channelFrom(inner)];
  }
}

Object.assign(NODES, {
  then: Then.read,
  keyed: Keyed.read,
  public: (fields: Spec) => new Public(...Public.parts(fields, "public")),
});
