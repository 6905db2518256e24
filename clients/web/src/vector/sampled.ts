/** `sampled-coordinates`. */
import { Channel, channelFrom, NO_WORDS, NODES, plain, type Code, type Words } from "../channel/channel";
import { Choice } from "../channel/maps";
import { number, type Rounding } from "../channel/numeric";
import { low } from "../core/bytes";
import type { Coins } from "../core/coins";
import { refuse } from "../core/errors";
import type { Fraction } from "../core/fraction";
import { count, define, valid } from "../core/read";
import { MOST_COORDINATES } from "./domains";
import { gridsFrom } from "./grids";

/** A few coordinates, chosen by public words, each through the same channel. */
class SampledCoordinates extends Channel {
  private readonly choice: Choice;
  constructor(
    readonly grids: Rounding[],
    readonly inner: Channel,
    readonly count: number,
    bits: number,
  ) {
    valid([2, 8, 64].includes(bits), "bits");
    valid(count <= grids.length, "count");
    const points = grids[0]!.steps + 1n;
    valid(
      inner.outputs !== null && inner.dimensions === null && plain(inner) && inner.inputs === points && inner.codesAreIndices,
      "inner",
    );
    super(points ** BigInt(grids.length), count * (1 + inner.words), null, count * inner.payloadBits);
    this.choice = new Choice(BigInt(grids.length), bits);
    this.dimensions = grids.length;
    this.roundings = grids;
    this.parts = [...new Set(grids), inner];
    this.publics = count === grids.length ? 0 : 1;
    if (this.publics) this.tries = this.choice.tries;
    this.codesAreIndices = false;
  }
  override accepts(words: Words): boolean {
    return !this.publics || this.choice.accepts(words);
  }
  sample(code: Code[], coins: Coins, words: Words = NO_WORDS): bigint {
    const begin = coins.position;
    const first = this.publics ? Number(this.choice.of(words)) : 0;
    let report = 0n;
    for (let place = 0; place < this.count; place++) {
      coins.seek(begin + place * (1 + this.inner.words));
      const coordinate = (first + place) % this.grids.length;
      const point = this.grids[coordinate]!.sample(number(code[coordinate]), coins);
      report |= this.inner.sample(point, coins) << BigInt(place * this.inner.payloadBits);
    }
    coins.seek(begin + this.words);
    return report;
  }
  override contains(report: bigint): boolean {
    const width = this.inner.payloadBits;
    if (!super.contains(report)) return false;
    for (let place = 0; place < this.count; place++)
      if (!this.inner.contains((report >> BigInt(place * width)) & low(width))) return false;
    return true;
  }
  ratio(): Fraction {
    return this.inner.ratio().power(this.count);
  }
  likelihood(): never {
    return refuse("This channel is too large for a browser.");
  }
}

define(NODES, "sampled-coordinates", SampledCoordinates, {
  ...{ grids: gridsFrom, inner: channelFrom, count: count(1n, MOST_COORDINATES), bits: count(1n, 64n) },
});
