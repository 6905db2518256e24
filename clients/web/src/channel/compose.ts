/** Nodes that are made of other nodes. */
import { bitLength, low, running, sum, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { need, refuse } from "../core/errors";
import { derivedWords } from "../core/field";
import { Fraction, largest, ONE, product, total, units, ZERO } from "../core/fraction";
import { integer, integers, kindOf, list, take, type Spec } from "../core/json";
import { at, Bits, bitsRatio } from "./bits";
import { Channel, channelFrom, checkMemos, infinite, NO_WORDS, NODES, type Code, type Words } from "./channel";
import { Subset, Table } from "./finite";
import { MAPS, type PublicMap } from "./maps";
import { codesTaken, number, Rounding, widthOf } from "./numeric";

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

abstract class Composed extends Channel {
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

  override delta(odds: Fraction): Fraction {
    return this.first instanceof Rounding ? this.second.delta(odds) : super.delta(odds);
  }

  static read(fields: Spec): Then {
    const [first, second] = take(fields, "then", "first", "second");
    return new Then(channelFrom(first), channelFrom(second));
  }
}

/** A first stage that a device draws once for each value and keeps, and a fresh second one. */
export class Chain extends Composed {
  readonly kind = "chain";

  constructor(first: Channel, second: Channel) {
    super(first, second);
    checkMemos(this);
  }

  override get stages(): readonly [Channel, Channel] {
    return [this.first, this.second];
  }

  /** The ratio of one report. All reports of one value together lose what the first stage loses. */
  ratio(): Fraction {
    const { first, second } = this;
    const bits =
      first instanceof Bits &&
      second instanceof Bits &&
      !["mask", "signed"].includes(first.encoding) &&
      !(first.encoding === "blocks" && second.vary) &&
      second.encoding === "mask" &&
      !second.ones;
    if (!bits) return this.ratioByEntry();
    const own: Fraction[] = [];
    const other: Fraction[] = [];
    for (let place = 0; place < (first.vary || second.vary ? first.k : Math.min(first.k, 2)); place++) {
      const [up, down] = [units(at(second.p, place)), units(at(second.q, place))];
      const after = (rate: Fraction): Fraction => rate.times(up).plus(ONE.minus(rate).times(down));
      own.push(after(units(at(first.p, place))));
      other.push(after(units(at(first.q, place))));
    }
    return bitsRatio(own, other, first.encoding, first.ones);
  }

  static read(fields: Spec): Chain {
    const [first, second] = take(fields, "chain", "first", "second");
    return new Chain(channelFrom(first), channelFrom(second));
  }
}

// --- channels side by side -----------------------------------------------------------------------------
function plain(channel: Channel): boolean {
  return !channel.publics && !channel.stages;
}

export class Each extends Channel {
  readonly kind: string = "each";

  constructor(readonly channels: Channel[]) {
    super();
    need(channels.length >= 1 && channels.length <= 1 << 16, "There are too many channels side by side, or none.");
    need(channels.every(plain), "Channels side by side read no public words and keep no memo.");
  }

  override get parts(): readonly Channel[] {
    return this.channels;
  }
  get inputs(): bigint {
    return this.channels.reduce((found, channel) => found * channel.inputs, 1n);
  }
  override get codesAreIndices(): boolean {
    return false;
  }
  override *codes(): Iterable<Code> {
    const parts = (place: number): Code[][] =>
      place === this.channels.length
        ? [[]]
        : [...this.channels[place]!.codes()].flatMap((one) => parts(place + 1).map((rest) => [one, ...rest]));
    yield* parts(0);
  }
  get words(): number {
    return this.channels.reduce((found, channel) => found + channel.words, 0);
  }
  get payloadBits(): number {
    return this.channels.reduce((found, channel) => found + channel.payloadBits, 0);
  }

  sample(code: Code, coins: Coins): bigint {
    return this.joined((channel, place) => channel.sample(code[place], coins));
  }

  /** The reports of all channels side by side, the first lowest. */
  protected joined(draw: (channel: Channel, place: number) => bigint): bigint {
    let [report, shift] = [0n, 0n];
    this.channels.forEach((channel, place) => {
      report |= draw(channel, place) << shift;
      shift += BigInt(channel.payloadBits);
    });
    return report;
  }

  split(report: bigint): bigint[] {
    return this.channels.map((channel) => {
      const part = report & low(channel.payloadBits);
      report >>= BigInt(channel.payloadBits);
      return part;
    });
  }

  contains(report: bigint): boolean {
    if (report < 0n || report > low(this.payloadBits)) return false;
    return this.split(report).every((part, place) => this.channels[place]!.contains(part));
  }

  ratio(): Fraction {
    return product(this.channels.map((channel) => channel.ratio()));
  }

  likelihood(report: bigint, code: Code): Fraction {
    return product(this.split(report).map((part, place) => this.channels[place]!.likelihood(part, code[place])));
  }

  static channels(fields: Spec, owner: string): Channel[] {
    return list(take(fields, owner, "channels")[0], owner, "channels").map(channelFrom);
  }
}

/** One part of an answer through its channel, the others replaced by uniform values; which one stays secret. */
class Fakes extends Each {
  override readonly kind = "fakes";

  constructor(override readonly channels: Subset[]) {
    super(channels);
    need(
      channels.every((channel) => channel instanceof Subset && channel.w === 1n),
      "Fake reports stand beside k-ary randomized response only.",
    );
  }

  override get words(): number {
    return 1 + this.channels.reduce((found, channel) => found + channel.words + 1, 0);
  }

  override sample(code: Code, coins: Coins): bigint {
    const chosen = Number(coins.below(BigInt(this.channels.length)));
    return this.joined((channel, place) => {
      const real = coins.when(place === chosen, (source) => channel.sample(code[place], source));
      const fake = coins.when(place !== chosen, (source) => source.below(channel.inputs));
      return place === chosen ? real : fake;
    });
  }

  override ratio(): Fraction {
    const most = total(this.channels.map((channel) => Fraction.of(channel.k).times(channel.own)));
    return most.over(total(this.channels.map((channel) => Fraction.of(channel.k).times(channel.other))));
  }

  override likelihood(report: bigint, code: Code): Fraction {
    const each = this.split(report).map((part, place) => {
      const channel = this.channels[place]!;
      return Fraction.of(channel.k).times(channel.likelihood(part, code[place]));
    });
    return total(each).over(Fraction.of(BigInt(this.channels.length) * this.inputs));
  }
}

/** The same channel for each bin of a histogram with a single one. */
class Histogram extends Channel {
  readonly kind = "histogram";

  constructor(
    readonly k: number,
    readonly part: Channel,
  ) {
    super();
    const outputs = part.outputs ?? 0n;
    need(
      outputs >= 2n && outputs <= 1n << 20n && part.inputs >= 2n && part.inputs <= 1n << 20n && plain(part) && part.codesAreIndices,
      "The bins of a histogram need a channel with indices, numbered reports and no memo.",
    );
  }

  override get parts(): readonly Channel[] {
    return [this.part];
  }
  get inputs(): bigint {
    return BigInt(this.k);
  }
  get words(): number {
    return this.k * this.part.words;
  }
  get payloadBits(): number {
    return this.k * this.part.payloadBits;
  }

  private end(one: boolean): bigint {
    return one ? this.part.inputs - 1n : 0n;
  }

  sample(code: bigint, coins: Coins): bigint {
    let report = 0n;
    const width = this.part.payloadBits;
    for (let place = 0; place < this.k; place++)
      report |= this.part.sample(this.end(BigInt(place) === code), coins) << BigInt(place * width);
    return report;
  }

  private bins(report: bigint): bigint[] {
    const width = this.part.payloadBits;
    return Array.from({ length: this.k }, (_, place) => (report >> BigInt(place * width)) & low(width));
  }

  contains(report: bigint): boolean {
    return report >= 0n && report <= low(this.payloadBits) && this.bins(report).every((y) => this.part.contains(y));
  }

  ratio(): Fraction {
    let [up, down] = [ZERO, ZERO];
    for (let y = 0n; y < this.part.outputs!; y++) {
      if (!this.part.contains(y)) continue;
      const [on, off] = [this.part.likelihood(y, this.end(true)), this.part.likelihood(y, 0n)];
      up = largest([on.over(off)], up);
      down = largest([off.over(on)], down);
    }
    return up.times(down);
  }

  likelihood(report: bigint, code: bigint): Fraction {
    return product(this.bins(report).map((y, place) => this.part.likelihood(y, this.end(BigInt(place) === code))));
  }

  static read(fields: Spec): Histogram {
    const [k, part] = take(fields, "histogram", "k", "part");
    return new Histogram(Number(integer(k, "histogram", "k", 2n, 1n << 14n)), channelFrom(part));
  }
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

/** One of several channels, chosen by a coin that is independent of the code; alphabets are disjoint. */
class Mix extends Channel {
  readonly kind = "mix";
  private readonly cumulative: bigint[];
  private readonly starts: bigint[];

  constructor(
    readonly weights: bigint[],
    readonly channels: Channel[],
  ) {
    super();
    need(
      weights.length >= 2 && weights.length === channels.length && sum(weights) === UNIT,
      "A mix must have two or more channels, and weights that sum to 2**53.",
    );
    need(
      channels.every((one) => plain(one) && one.outputs !== null && (one.rounding !== null || one.codesAreIndices)),
      "The channels of a mix must have numbered outputs, take every code, and read no public words.",
    );
    need(
      new Set(channels.map(codesTaken)).size === 1 && !channels.every((one) => one.rounding),
      "The channels of a mix must take the same codes.",
    );
    this.cumulative = running(weights);
    this.starts = [0n, ...running(channels.map((one) => one.outputs!))];
  }

  override get parts(): readonly Channel[] {
    return this.channels;
  }
  get inputs(): bigint {
    return codesTaken(this.channels[0]!);
  }
  get words(): number {
    return 1 + this.channels.reduce((found, channel) => found + channel.words, 0);
  }
  override get outputs(): bigint {
    return this.starts[this.channels.length]!;
  }
  get payloadBits(): number {
    return bitLength(this.outputs - 1n);
  }

  sample(code: bigint, coins: Coins): bigint {
    let begin = coins.position + 1;
    const chosen = coins.pick(this.cumulative);
    const drawn = this.channels.map((channel, place) => {
      coins.seek(begin);
      begin += channel.words;
      return coins.when(place === chosen, (source) => channel.sample(code, source));
    });
    coins.seek(begin);
    return this.starts[chosen]! + drawn[chosen]!;
  }

  /** The channel of a report, and what that channel reported. */
  private branch(report: bigint): [number, bigint] {
    let chosen = 0;
    while (report >= this.starts[chosen + 1]!) chosen++;
    return [chosen, report - this.starts[chosen]!];
  }

  contains(report: bigint): boolean {
    if (report < 0n || report >= this.outputs) return false;
    const [chosen, inner] = this.branch(report);
    return this.channels[chosen]!.contains(inner);
  }

  ratio(): Fraction {
    return largest(
      this.channels.map((channel) => channel.ratio()),
      ONE,
    );
  }

  likelihood(report: bigint, code: bigint): Fraction {
    const [chosen, inner] = this.branch(report);
    return units(this.weights[chosen]!).times(this.channels[chosen]!.likelihood(inner, code));
  }

  override extremes(): [Fraction[], Fraction[]] {
    const each = this.channels.map((channel, place) =>
      channel.extremes().map((side) => side.map((one) => units(this.weights[place]!).times(one))),
    );
    return [each.flatMap((one) => one[0]!), each.flatMap((one) => one[1]!)];
  }

  static read(fields: Spec): Mix {
    const [weights, channels] = take(fields, "mix", "weights", "channels");
    return new Mix(integers(weights, "mix", "weights", 1n, UNIT), list(channels, "mix", "channels").map(channelFrom));
  }
}

// --- public maps ---------------------------------------------------------------------------------------
/** A map chosen by public words, which are the report's id, then an inner channel on the mapped code. */
class Public extends Channel {
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

/** A public map that a device draws once and keeps, above the memo of a chain. */
class Cohorts extends Public {
  override readonly kind = "cohorts";

  constructor(map: PublicMap, inner: Channel) {
    need(map.seeds !== undefined && inner instanceof Chain, "Cohorts need numbered maps, and a chain inside.");
    need(map.seeds! <= 1n << 10n, "There are at most 1024 cohorts.");
    super(map, inner);
  }

  override get stages(): readonly [Channel, Channel] | null {
    return this.inner.stages;
  }
  override get cohorts(): bigint {
    return this.map.seeds!;
  }
  override cohort(words: Words): bigint {
    return this.map.seed!(this.read(words));
  }
  override mappedIn(cohort: bigint, code: Code): Code {
    return this.map.value!(cohort, code);
  }
}

Object.assign(NODES, {
  then: Then.read,
  chain: Chain.read,
  each: (fields: Spec) => new Each(Each.channels(fields, "each")),
  fakes: (fields: Spec) => new Fakes(Each.channels(fields, "fakes") as Subset[]),
  histogram: Histogram.read,
  keyed: Keyed.read,
  mix: Mix.read,
  public: (fields: Spec) => new Public(...Public.parts(fields, "public")),
  cohorts: (fields: Spec) => new Cohorts(...Public.parts(fields, "cohorts")),
});
