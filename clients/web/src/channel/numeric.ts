/** `rounding`, `window` and `noise`. */
import { FINE, floorDiv, mod, running, sum, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { decimal } from "../core/decimal";
import { infinite, need } from "../core/errors";
import { Fraction, larger, ONE, spend, units, ZERO } from "../core/fraction";
import { define, integer, listOf, valid } from "../core/read";
import { Channel, informative, NODES, unit, type Code, type Extremes } from "./channel";

export const PLACES = 32; // binary places to which a number is read, in steps of the grid
const STEP = 1n << 32n;
const MOST_OUTPUTS = 1n << 24n;

export function number(code: Code): Fraction {
  return typeof code === "bigint" ? Fraction.of(code) : (code as Fraction);
}

/** A number becomes one of the two grid points beside it, so that its mean is the number itself. */
export class Rounding extends Channel {
  readonly step: Fraction;
  private readonly scale: Fraction;

  constructor(
    readonly low: Fraction,
    readonly high: Fraction,
    readonly steps: bigint,
  ) {
    super(steps + 1n, 1, steps + 1n);
    valid(low.compare(high) < 0, "high");
    this.step = high.minus(low).over(Fraction.of(steps));
    this.scale = Fraction.of(STEP).over(this.step);
    this.rounding = this;
    this.codesAreIndices = false;
  }

  override *codes(): Iterable<Code> {
    for (let point = 0n; point <= this.steps; point++) yield this.low.plus(this.step.times(Fraction.of(point)));
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
    need(point >= 0n && point <= this.steps - BigInt(rest > 0n), "A number is outside.", "domain");
    return point + BigInt(coins.flip(rest << BigInt(FINE - PLACES)));
  }

  ratio(): Fraction {
    return infinite();
  }

  likelihood(report: bigint, code: Code): Fraction {
    const away = Fraction.of(this.position(code), STEP).minus(Fraction.of(report));
    return larger(ZERO, ONE.minus(larger(away, ZERO.minus(away))));
  }
}

/** With probability `inside` uniform over the `width` outputs from stride * code on, else uniform over the rest. */
class Window extends Channel {
  private readonly rest: bigint;
  private readonly near: Fraction;
  private readonly far: Fraction;

  constructor(
    readonly k: bigint,
    readonly stride: bigint,
    readonly width: bigint,
    readonly inside: bigint,
  ) {
    const rest = (k - 1n) * stride;
    const outputs = rest + width;
    valid(outputs <= MOST_OUTPUTS, "width");
    informative(units(inside), Fraction.of(width, outputs));
    super(k, 2, outputs);
    this.rest = rest;
    this.near = Fraction.of(inside, UNIT * width);
    this.far = Fraction.of(UNIT - inside, UNIT * rest);
  }

  sample(code: bigint, coins: Coins): bigint {
    const start = this.stride * code;
    const inside = coins.flip(this.inside);
    const drawn = coins.below(inside ? this.width : this.rest);
    return inside ? drawn + start : drawn + this.width * BigInt(drawn >= start);
  }

  ratio(): Fraction {
    return this.near.over(this.far);
  }

  likelihood(report: bigint, code: bigint): Fraction {
    const from = report - this.stride * code;
    return from >= 0n && from < this.width ? this.near : this.far;
  }

  override extremes(): Extremes {
    const { near, far } = this;
    const [outputs, k, stride, width] = [this.outputs!, this.k, this.stride, this.width].map(Number) as [number, number, number, number];
    spend(outputs / 4);
    const counts = Array.from({ length: outputs }, (_, y) => {
      const first = Math.max(0, Math.ceil((y - width + 1) / stride));
      return Math.max(0, Math.min(k - 1, Math.floor(y / stride)) - first + 1); // windows that contain the output
    });
    return [counts.map((held) => (held ? near : far)), counts.map((held) => (held === k ? near : far))];
  }
}

/** Codes plus two-sided noise; magnitudes come in bands, and the sum is clamped to a public range. */
class Noise extends Channel {
  private readonly sums: bigint[][];
  /** How far beyond the codes the reports reach. */
  private readonly limit: bigint;
  private laws: { magnitudes: bigint[]; tails: bigint[] } | null = null;

  constructor(
    readonly steps: bigint,
    readonly first: bigint[],
    readonly cycle: bigint[],
    readonly bands: bigint[],
  ) {
    const limit = BigInt(first.length) + BigInt(bands.length - 3) * steps;
    super(steps + 1n, 3, steps + 2n * limit + 2n);
    this.limit = limit;
    const lists = [first, cycle, bands];
    valid(lists.every((weights) => sum(weights) === UNIT) && !this.rises(), "bands");
    valid(BigInt(cycle.length) === steps && first.length <= cycle.length && bands.length >= 3, "steps");
    valid(this.outputs! <= MOST_OUTPUTS, "steps");
    this.sums = lists.map(running);
  }

  /** Whether a larger magnitude is likelier than a smaller one. */
  private rises(): boolean {
    const inner = this.bands.slice(1, -1);
    const up = (values: bigint[]): boolean => values.some((value, place) => place > 0 && value > values[place - 1]!);
    if ([this.first, this.cycle, inner].some(up)) return true;
    const ends = [this.bands[0]! * this.first.at(-1)!, ...inner.map((band) => band * this.cycle.at(-1)!)];
    return inner.some((band, place) => band * this.cycle[0]! > ends[place]!);
  }

  sample(code: bigint, coins: Coins): bigint {
    const [first, cycle, bands] = this.sums;
    const band = coins.pick(bands!);
    const later = band > 0;
    const within = BigInt(coins.pick(later ? cycle! : first!));
    const before = BigInt(this.first.length) + BigInt(band - 1) * this.steps;
    const magnitude = within + (later ? before : 0n);
    const noisy = code + (coins.flip(UNIT / 2n) ? magnitude : -1n - magnitude);
    return clamped(noisy, -this.limit - 1n, this.steps + this.limit) + this.limit + 1n;
  }

  ratio(): Fraction {
    const [bands, last] = [this.bands, this.bands.length - 1];
    let worst = Fraction.of(bands[last - 1]! + bands[last]!, bands[last]!);
    const seen = new Set<string>();
    const compare = (near: bigint, far: bigint): void => {
      const key = `${near}/${far}`;
      if (!seen.has(key)) worst = larger(worst, Fraction.of(near, far));
      seen.add(key);
    };
    const beyond = this.cycle.length - this.first.length;
    this.first.forEach((near, place) => compare(bands[0]! * near, bands[1]! * this.cycle[beyond + place]!));
    for (let place = 1; place + 1 < last; place++) compare(bands[place]!, bands[place + 1]!);
    return worst;
  }

  /** The weight of each magnitude before the last band, and that of it and all larger ones, in units of 2**-106. */
  private law(): { magnitudes: bigint[]; tails: bigint[] } {
    if (this.laws) return this.laws;
    spend(Number(this.outputs) * 4);
    const magnitudes = this.first.map((weight) => this.bands[0]! * weight);
    for (const band of this.bands.slice(1, -1)) for (const weight of this.cycle) magnitudes.push(band * weight);
    const tails = running([this.bands.at(-1)! * UNIT, ...magnitudes.slice().reverse()]).reverse();
    return (this.laws = { magnitudes, tails });
  }

  likelihood(report: bigint, code: bigint): Fraction {
    const noise = report - this.limit - 1n - code;
    const magnitude = noise >= 0n ? noise : -1n - noise;
    const { magnitudes, tails } = this.law();
    const table = report === 0n || report === this.outputs! - 1n ? tails : magnitudes;
    return Fraction.of(table[Number(magnitude)]!, 2n * UNIT * UNIT);
  }

  /** Likeliest from the nearest code, least likely from the farther end. */
  override extremes(): Extremes {
    const found: Extremes = [[], []];
    for (let y = 0n; y < this.outputs!; y++) {
      const at = (code: bigint): Fraction => this.likelihood(y, code);
      const [one, other] = [at(0n), at(this.steps)];
      found[0].push(at(clamped(y - this.limit - 1n, 0n, this.steps)));
      found[1].push(one.compare(other) < 0 ? one : other);
    }
    return found;
  }
}

function clamped(value: bigint, least: bigint, most: bigint): bigint {
  return value < least ? least : value > most ? most : value;
}

const size = integer(1n, MOST_OUTPUTS);
const shares = listOf(integer(1n, UNIT));
define(NODES, "rounding", Rounding, { low: decimal, high: decimal, steps: integer(1n, 1n << 31n) });
define(NODES, "window", Window, { k: integer(2n, MOST_OUTPUTS), stride: size, width: size, inside: unit });
define(NODES, "noise", Noise, { steps: size, first: shares, cycle: shares, bands: shares });
