/** `each` and `mix`. */
import { low, running, sum, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { Fraction, largest, ONE, product, units } from "../core/fraction";
import { define, integer, listOf, valid } from "../core/read";
import { Channel, channels, NODES, plain, type Code, type Extremes } from "./channel";

function words(parts: readonly Channel[]): number {
  return parts.reduce((found, part) => found + part.words, 0);
}

/** Channels side by side: the report of the first is lowest. */
export abstract class Beside extends Channel {
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

export class Each extends Beside {
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
define(NODES, "mix", Mix, { weights: listOf(integer(1n, UNIT)), channels });
