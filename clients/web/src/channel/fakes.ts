/** `fakes` and `histogram`. */
import type { Coins } from "../core/coins";
import { Fraction, larger, product, total, ZERO } from "../core/fraction";
import { count, define, valid } from "../core/read";
import { Channel, channelFrom, channels, NODES, plain, type Code } from "./channel";
import { Subset } from "./finite";
import { Beside, Each } from "./side";

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

define(NODES, "fakes", Fakes, { channels });
define(NODES, "histogram", Histogram, { k: count(2n, 1n << 14n), part: channelFrom });
