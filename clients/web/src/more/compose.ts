/** `each`, `fakes`, `histogram` and `mix`. */
import { Channel, channelFrom, NODES, type Code } from "../channel/channel";
import { plain } from "../channel/compose";
import { Subset } from "../channel/finite";
import { bitLength, low, running, sum, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { need } from "../core/errors";
import { Fraction, largest, ONE, product, total, units, ZERO } from "../core/fraction";
import { integer, integers, list, take, type Spec } from "../core/json";

class Each extends Channel {
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

/** How many codes a channel takes; one that rounds takes those from 0 to the end of its range. */
function codesTaken(channel: Channel): bigint {
  const grid = channel.rounding;
  if (!grid) return channel.inputs;
  need(grid.low.n === 0n && grid.high.d === 1n, "In a mix the range of a rounding must be 0, ..., a whole number.");
  return grid.high.n + 1n;
}

Object.assign(NODES, {
  each: (fields: Spec) => new Each(Each.channels(fields, "each")),
  fakes: (fields: Spec) => new Fakes(Each.channels(fields, "fakes") as Subset[]),
  histogram: Histogram.read,
  mix: Mix.read,
});
