/** `rounding`: a number to one of the two grid points beside it. */
import { bitLength, FINE, floorDiv, mod } from "../core/bytes";
import type { Coins } from "../core/coins";
import { decimal } from "../core/decimal";
import { need } from "../core/errors";
import { Fraction, ONE, ZERO } from "../core/fraction";
import { integer, take, type Spec } from "../core/json";
import { infinite, NODES, Numbered, type Code } from "./channel";

export const PLACES = 32; // binary places to which a number is read, in steps of the grid
const STEP = 1n << 32n;

export function number(code: Code): Fraction {
  return typeof code === "bigint" ? Fraction.of(code) : (code as Fraction);
}

/** A number becomes one of the two grid points beside it, so that its mean is the number itself. */
export class Rounding extends Numbered {
  readonly kind = "rounding";
  readonly step: Fraction;
  private readonly scale: Fraction;

  constructor(
    readonly low: Fraction,
    readonly high: Fraction,
    readonly steps: bigint,
  ) {
    super();
    need(low.compare(high) < 0, "The 'high' of a rounding must be above its 'low'.");
    this.step = high.minus(low).over(Fraction.of(steps));
    this.scale = Fraction.of(STEP).over(this.step);
  }

  override get rounding(): Rounding {
    return this;
  }
  get inputs(): bigint {
    return this.steps + 1n;
  }
  get outputs(): bigint {
    return this.steps + 1n;
  }
  override get codesAreIndices(): boolean {
    return false;
  }
  override *codes(): Iterable<Code> {
    for (let point = 0n; point <= this.steps; point++) yield this.low.plus(this.step.times(Fraction.of(point)));
  }
  get words(): number {
    return 1;
  }

  /** Where a number lies, in units of 2**-32 steps, to the nearest, ties to even. */
  position(code: Code): bigint {
    const { n, d } = number(code);
    const top = (n * this.low.d - this.low.n * d) * this.scale.n;
    const bottom = d * this.low.d * this.scale.d;
    const below = floorDiv(top, bottom);
    return below + BigInt(2n * mod(top, bottom) + (below & 1n) > bottom);
  }

  sample(code: Code, coins: Coins): bigint {
    const position = this.position(code);
    const [point, rest] = [position >> 32n, position & (STEP - 1n)];
    need(point >= 0n && point <= this.steps - BigInt(rest > 0n), "A number is outside the range of its grid.", "domain");
    return point + BigInt(coins.flip(rest << BigInt(FINE - PLACES)));
  }

  ratio(): Fraction {
    return infinite();
  }

  likelihood(report: bigint, code: Code): Fraction {
    const away = Fraction.of(this.position(code), STEP).minus(Fraction.of(report));
    const near = ONE.minus(away.n < 0n ? ZERO.minus(away) : away);
    return near.n > 0n ? near : ZERO;
  }

  static read(fields: Spec): Rounding {
    const [low, high, steps] = take(fields, "rounding", "low", "high", "steps");
    const ends = [decimal(low, "rounding", "low"), decimal(high, "rounding", "high")] as const;
    return new Rounding(...ends, integer(steps, "rounding", "steps", 1n, 1n << 31n));
  }
}

export function widthOf(outputs: bigint): number {
  return bitLength(outputs - 1n);
}

NODES.rounding = Rounding.read;
