/** `each`, `fakes`, `histogram` and `mix`. */
import { low, running, sum, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { Fraction, larger, largest, ONE, product, total, units, ZERO } from "../core/fraction";
import { count, define, integer, listOf, valid } from "../core/read";
import { Channel, channelFrom, channels, NODES, plain, type Code, type Extremes } from "./channel";
import { Subset } from "./finite";

function words(parts: readonly Channel[]): number {
  return parts.reduce((found, part) => found + part.words, 0);
}

/** Channels side by side: the report of the first is lowest. */
abstract class Beside extends Channel {
  constructor(inputs: bigint, words: number, channels: Channel[]) {
    super(inputs, words, null, channels.reduce((found, part) => found + part.payloadBits, 0));
    this.parts = channels;
  }

  protected joined(draw: (channel: Channel, place: number) => bigint): bigint {
    let [report, shift] = [0n, 0n];
    this.parts.forEach((channel, place) => {
      report |= draw(channel, place) << shift;
      shift += BigInt(channel.payloadBits);
    });
    return report;
  }

  protected split(report: bigint): bigint[] {
    return this.parts.map(({ payloadBits }) => {
      const part = report & low(payloadBits);
      report >>= BigInt(payloadBits);
      return part;
    });
  }

  override contains(report: bigint): boolean {
    return super.contains(report) && this.split(report).every((part, place) => this.parts[place]!.contains(part));
  }
}

class Each extends Beside {
  constructor(
    readonly channels: Channel[],
    more = 0,
  ) {
    valid(channels.length >= 1 && channels.length <= 1 << 16 && channels.every(plain), "channels");
    super(
      channels.reduce((found, channel) => found * channel.inputs, 1n),
      more + words(channels),
      channels,
    );
    this.codesAreIndices = false;
  }

  override codes(): Iterable<Code> {
    return this.channels.reduce<Code[][]>(
      (found, channel) => found.flatMap((before) => Array.from(channel.codes(), (one) => [...before, one])),
      [[]],
    );
  }

  sample(code: Code, coins: Coins): bigint {
    return this.joined((channel, place) => channel.sample(code[place], coins));
  }

  ratio(): Fraction {
    return product(this.channels.map((channel) => channel.ratio()));
  }

  likelihood(report: bigint, code: Code): Fraction {
    return product(this.split(report).map((part, place) => this.channels[place]!.likelihood(part, code[place])));
  }
}

/** One part of an answer through its channel, the others replaced by uniform values; which one stays secret. */
class Fakes extends Each {
  constructor(override readonly channels: Subset[]) {
    valid(
      channels.every((channel) => channel instanceof Subset && channel.w === 1n),
      "channels",
    );
    super(channels, 1 + channels.length);
  }

  override sample(code: Code, coins: Coins): bigint {
    const chosen = Number(coins.below(BigInt(this.channels.length)));
    return this.joined((channel, place) => {
      const real = coins.when(place === chosen, (source) => channel.sample(code[place], source));
      const fake = coins.when(place !== chosen, (source) => source.below(channel.inputs));
      return place === chosen ? real : fake;
    });
  }

  /** The sum over the channels of what each says, times its number of codes. */
  private weighed(each: (channel: Subset, place: number) => Fraction): Fraction {
    return total(this.channels.map((channel, place) => Fraction.of(channel.k).times(each(channel, place))));
  }

  override ratio(): Fraction {
    return this.weighed((channel) => channel.own).over(this.weighed((channel) => channel.other));
  }

  override likelihood(report: bigint, code: Code): Fraction {
    const split = this.split(report);
    const all = Fraction.of(BigInt(this.channels.length) * this.inputs);
    return this.weighed((channel, place) => channel.likelihood(split[place]!, code[place])).over(all);
  }
}

/** The same channel for each bin of a histogram with a single one. */
class Histogram extends Beside {
  constructor(
    k: number,
    readonly part: Channel,
  ) {
    const few = (size: bigint | null): boolean => size !== null && size >= 2n && size <= 1n << 20n;
    valid(few(part.outputs) && few(part.inputs) && plain(part) && part.codesAreIndices, "part");
    super(BigInt(k), k * part.words, Array(k).fill(part));
  }

  private end(one: boolean): bigint {
    return one ? this.part.inputs - 1n : 0n;
  }

  sample(code: bigint, coins: Coins): bigint {
    return this.joined((part, place) => part.sample(this.end(BigInt(place) === code), coins));
  }

  ratio(): Fraction {
    let [up, down] = [ZERO, ZERO];
    for (let y = 0n; y < this.part.outputs!; y++) {
      if (!this.part.contains(y)) continue;
      const [on, off] = [this.part.likelihood(y, this.end(true)), this.part.likelihood(y, 0n)];
      up = larger(up, on.over(off));
      down = larger(down, off.over(on));
    }
    return up.times(down);
  }

  likelihood(report: bigint, code: bigint): Fraction {
    return product(this.split(report).map((y, place) => this.part.likelihood(y, this.end(BigInt(place) === code))));
  }
}

/** One of several channels, chosen by a coin that is independent of the code; alphabets are disjoint. */
class Mix extends Channel {
  private readonly cumulative: bigint[];
  private readonly starts: bigint[];

  constructor(
    readonly weights: bigint[],
    readonly channels: Channel[],
  ) {
    valid(weights.length >= 2 && weights.length === channels.length && sum(weights) === UNIT, "weights");
    valid(
      channels.every((one) => plain(one) && one.outputs !== null && (one.rounding || one.codesAreIndices)) &&
        new Set(channels.map(codesTaken)).size === 1 &&
        !channels.every((one) => one.rounding),
      "channels",
    );
    const starts = [0n, ...running(channels.map((one) => one.outputs!))];
    super(codesTaken(channels[0]!), 1 + words(channels), starts.at(-1)!);
    this.parts = channels;
    this.starts = starts;
    this.cumulative = running(weights);
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

  override contains(report: bigint): boolean {
    if (!super.contains(report)) return false;
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

  override extremes(): Extremes {
    const each = this.channels.map((channel, place) =>
      channel.extremes().map((side) => side.map((one) => units(this.weights[place]!).times(one))),
    );
    return [each.flatMap((one) => one[0]!), each.flatMap((one) => one[1]!)];
  }
}

/** How many codes a channel takes; one that rounds takes those from 0 to the end of its range. */
function codesTaken(channel: Channel): bigint {
  const grid = channel.rounding;
  if (!grid) return channel.inputs;
  valid(grid.low.n === 0n && grid.high.d === 1n, "channels");
  return grid.high.n + 1n;
}

define(NODES, "each", Each, { channels });
define(NODES, "fakes", Fakes, { channels });
define(NODES, "histogram", Histogram, { k: count(2n, 1n << 14n), part: channelFrom });
define(NODES, "mix", Mix, { weights: listOf(integer(1n, UNIT)), channels });
