/** `half-space`. */
import { Channel, NODES, unit, type Code } from "../channel/channel";
import { choose } from "../channel/finite";
import { PLACES, type Rounding } from "../channel/numeric";
import { bitCount, FINE, low, UNIT } from "../core/bytes";
import { flipsSpan, type Coins } from "../core/coins";
import { refuse } from "../core/errors";
import { Fraction, ONE } from "../core/fraction";
import { define, valid } from "../core/read";
import { gridsFrom } from "./grids";

const HALF = UNIT / 2n;
const TIED_TRIES = 8;

/** The signs of a vector, drawn uniformly or from those that point to the same side as the answer. */
class HalfSpace extends Channel {
  private readonly tied: number;
  private readonly width: number;
  constructor(
    readonly grids: Rounding[],
    readonly inside: bigint,
  ) {
    valid(grids[0]!.steps === 1n, "grids");
    const width = grids.length;
    const tied = width % 2 ? 1 : TIED_TRIES;
    super(1n << BigInt(width), width + 1 + tied * flipsSpan(width, HALF), null, width);
    this.dimensions = this.width = width;
    this.roundings = grids;
    this.codesAreIndices = false;
    this.tied = tied;
  }
  sample(code: Code[], coins: Coins): bigint {
    const { width } = this;
    const end = coins.position + this.words;
    let corner = 0n;
    this.grids.forEach((grid, place) => {
      const up = coins.flip(grid.position(code[place]) << BigInt(FINE - PLACES));
      corner |= BigInt(up) << BigInt(place);
    });
    const inside = coins.flip(this.inside);
    const signs = (source: Coins): bigint => source.flips(width, HALF);
    const untied = (source: Coins): bigint => source.until(signs, (one) => 2 * bitCount(one) !== width, this.tied);
    const differing = coins.either(inside, untied, signs);
    coins.seek(end);
    const turned = 2 * bitCount(differing) > width && inside;
    return corner ^ (turned ? differing ^ low(width) : differing);
  }
  ratio(): Fraction {
    const width = BigInt(this.width);
    const ties = width % 2n ? 0n : choose(width, width / 2n);
    const half = (this.inputs - ties) / 2n;
    return ONE.plus(Fraction.of(this.inside * this.inputs, half * (UNIT - this.inside)));
  }
  likelihood(): never {
    return refuse("This channel is too large for a browser.");
  }
}

define(NODES, "half-space", HalfSpace, { grids: gridsFrom, inside: unit });
