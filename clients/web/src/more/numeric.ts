/** `window`, `noise` and `sparing`. */
import { running, sum, UNIT } from "../core/bytes";
import { infinite, informative, NODES, Numbered, unit } from "../channel/channel";
import type { Coins } from "../core/coins";
import { need } from "../core/errors";
import { Fraction, spend, units, ZERO } from "../core/fraction";
import { integer, integers, take, type Spec } from "../core/json";

const MOST_OUTPUTS = 1n << 24n;

/** With probability `inside` uniform over the `width` outputs from stride * code on, else uniform over the rest. */
class Window extends Numbered {
  readonly kind = "window";

  constructor(
    readonly k: bigint,
    readonly stride: bigint,
    readonly width: bigint,
    readonly inside: bigint,
  ) {
    super();
    need(this.outputs >= 2n && this.outputs <= MOST_OUTPUTS, "A window has too many outputs.");
    informative(this.kind, units(inside), Fraction.of(width, this.outputs));
  }

  get inputs(): bigint {
    return this.k;
  }
  get outputs(): bigint {
    return (this.k - 1n) * this.stride + this.width;
  }
  get words(): number {
    return 2;
  }

  sample(code: bigint, coins: Coins): bigint {
    const start = this.stride * code;
    const inside = coins.flip(this.inside);
    const drawn = coins.below(inside ? this.width : this.outputs - this.width);
    return inside ? drawn + start : drawn + this.width * BigInt(drawn >= start);
  }

  ratio(): Fraction {
    return Fraction.of(this.inside * (this.outputs - this.width), (UNIT - this.inside) * this.width);
  }

  private get near(): Fraction {
    return Fraction.of(this.inside, UNIT * this.width);
  }
  private get far(): Fraction {
    return Fraction.of(UNIT - this.inside, UNIT * (this.outputs - this.width));
  }

  likelihood(report: bigint, code: bigint): Fraction {
    const from = report - this.stride * code;
    return from >= 0n && from < this.width ? this.near : this.far;
  }

  override extremes(): [Fraction[], Fraction[]] {
    const [near, far, outputs] = [this.near, this.far, Number(this.outputs)];
    const [k, stride, width] = [Number(this.k), Number(this.stride), Number(this.width)];
    spend(outputs / 4);
    const counts = Array.from({ length: outputs }, (_, y) => {
      const first = Math.max(0, Math.ceil((y - width + 1) / stride));
      return Math.max(0, Math.min(k - 1, Math.floor(y / stride)) - first + 1); // windows that contain the output
    });
    return [counts.map((held) => (held ? near : far)), counts.map((held) => (held === k ? near : far))];
  }

  static read(fields: Spec): Window {
    const [k, stride, width, inside] = take(fields, "window", "k", "stride", "width", "inside");
    const size = (value: unknown, name: string, least: bigint): bigint =>
      integer(value, "window", name, least, MOST_OUTPUTS);
    return new Window(size(k, "k", 2n), size(stride, "stride", 1n), size(width, "width", 1n), unit(inside, "window", "inside"));
  }
}

/** Codes plus two-sided noise; magnitudes come in bands, and the sum is clamped to a public range. */
class Noise extends Numbered {
  readonly kind = "noise";
  private readonly sums: [bigint[], bigint[], bigint[]];
  private laws: { magnitudes: bigint[]; tails: bigint[] } | null = null;

  constructor(
    readonly steps: bigint,
    readonly first: bigint[],
    readonly cycle: bigint[],
    readonly bands: bigint[],
  ) {
    super();
    for (const weights of [first, cycle, bands]) need(sum(weights) === UNIT, "The weights of noise must sum to 2**53.");
    need(
      BigInt(cycle.length) === steps && first.length <= cycle.length && bands.length >= 3,
      "Noise must have three bands or more: the first at most as long as the range, each later one exactly as long.",
    );
    need(this.outputs <= MOST_OUTPUTS, "Noise has too many outputs.");
    need(!this.rises(), "A larger magnitude of noise must not be likelier than a smaller one.");
    this.sums = [running(first), running(cycle), running(bands)];
  }

  private rises(): boolean {
    const inner = this.bands.slice(1, -1);
    const up = (values: bigint[]): boolean => values.some((value, place) => place > 0 && value > values[place - 1]!);
    if ([this.first, this.cycle, inner].some(up)) return true;
    const last = this.cycle[this.cycle.length - 1]!;
    const ends = [this.bands[0]! * this.first[this.first.length - 1]!, ...inner.map((band) => band * last)];
    return inner.some((band, place) => band * this.cycle[0]! > ends[place]!);
  }

  get inputs(): bigint {
    return this.steps + 1n;
  }
  /** How far beyond the codes the reports reach. */
  private get limit(): bigint {
    return BigInt(this.first.length) + BigInt(this.bands.length - 3) * this.steps;
  }
  get outputs(): bigint {
    return this.steps + 2n * this.limit + 2n;
  }
  get words(): number {
    return 3;
  }

  sample(code: bigint, coins: Coins): bigint {
    const [first, cycle, bands] = this.sums;
    const band = coins.pick(bands);
    const later = band > 0;
    const within = BigInt(coins.pick(later ? cycle : first));
    const before = BigInt(this.first.length) + BigInt(band - 1) * this.steps;
    const magnitude = within + (later ? before : 0n);
    const noisy = code + (coins.flip(UNIT / 2n) ? magnitude : -1n - magnitude);
    const [least, most] = [-this.limit - 1n, this.steps + this.limit];
    return (noisy < least ? least : noisy > most ? most : noisy) + this.limit + 1n;
  }

  ratio(): Fraction {
    const [bands, last] = [this.bands, this.bands.length - 1];
    let worst = Fraction.of(bands[last - 1]! + bands[last]!, bands[last]!);
    const seen = new Set<string>();
    const compare = (near: bigint, far: bigint): void => {
      const key = `${near}/${far}`;
      if (seen.has(key)) return;
      seen.add(key);
      const found = Fraction.of(near, far);
      if (found.compare(worst) > 0) worst = found;
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
    const tails = [this.bands[this.bands.length - 1]! * UNIT];
    for (let m = magnitudes.length - 1; m >= 0; m--) tails.push(tails[tails.length - 1]! + magnitudes[m]!);
    return (this.laws = { magnitudes, tails: tails.reverse() });
  }

  likelihood(report: bigint, code: bigint): Fraction {
    const noise = report - this.limit - 1n - code;
    const magnitude = noise >= 0n ? noise : -1n - noise;
    const { magnitudes, tails } = this.law();
    const table = report === 0n || report === this.outputs - 1n ? tails : magnitudes;
    return Fraction.of(table[Number(magnitude)]!, 2n * UNIT * UNIT);
  }

  /** Likeliest from the nearest code, least likely from the farther end. */
  override extremes(): [Fraction[], Fraction[]] {
    const most: Fraction[] = [];
    const least: Fraction[] = [];
    for (let y = 0n; y < this.outputs; y++) {
      const near = y - this.limit - 1n;
      most.push(this.likelihood(y, near < 0n ? 0n : near > this.steps ? this.steps : near));
      const [one, other] = [this.likelihood(y, 0n), this.likelihood(y, this.steps)];
      least.push(one.compare(other) < 0 ? one : other);
    }
    return [most, least];
  }

  static read(fields: Spec): Noise {
    const [steps, ...lists] = take(fields, "noise", "steps", "first", "cycle", "bands");
    const [first, cycle, bands] = lists.map((weights) => integers(weights, "noise", "weights", 1n, UNIT));
    return new Noise(integer(steps, "noise", "steps", 1n, MOST_OUTPUTS), first!, cycle!, bands!);
  }
}

/** Each sensitive code is reported with probability `other` by every code but itself; the rest reports the code. */
class Sparing extends Numbered {
  readonly kind = "sparing";

  constructor(
    readonly k: bigint,
    readonly sensitive: bigint[],
    readonly other: bigint,
  ) {
    super();
    need(
      sensitive.length > 0 &&
        BigInt(sensitive.length) < k &&
        sensitive.every((code, place) => !place || code > sensitive[place - 1]!),
      "Some but not all codes of a sparing channel are sensitive, listed in rising order.",
    );
    informative(this.kind, units(UNIT - BigInt(sensitive.length) * other), ZERO);
    informative(this.kind, this.own(sensitive[0]!), units(other));
  }

  get inputs(): bigint {
    return this.k;
  }
  get outputs(): bigint {
    return this.k;
  }
  get words(): number {
    return 2;
  }

  /** Where a code stands among the sensitive ones, and whether it is one. */
  private place(code: bigint): [number, boolean] {
    let place = 0;
    for (const one of this.sensitive) place += Number(one < code);
    return [place, this.sensitive[Math.min(place, this.sensitive.length - 1)] === code];
  }

  private own(code: bigint): Fraction {
    return units(UNIT - BigInt(this.sensitive.length - Number(this.place(code)[1])) * this.other);
  }

  sample(code: bigint, coins: Coins): bigint {
    const [place, own] = this.place(code);
    const others = this.sensitive.length - Number(own);
    const kept = coins.flip(UNIT - BigInt(others) * this.other);
    let index = Number(coins.below(kept ? 1n : BigInt(Math.max(others, 1))));
    index = Math.min(index + Number(own && index >= place), this.sensitive.length - 1);
    return kept ? code : this.sensitive[index]!;
  }

  ratio(): Fraction {
    return infinite();
  }

  override guardedRatio(sensitive: ReadonlySet<bigint>): Fraction | null {
    for (const code of sensitive) if (!this.place(code)[1]) return null;
    return this.own(this.sensitive[0]!).over(units(this.other));
  }

  likelihood(report: bigint, code: bigint): Fraction {
    if (report === code) return this.own(code);
    return this.place(report)[1] ? units(this.other) : ZERO;
  }

  static read(fields: Spec): Sparing {
    const [k, sensitive, other] = take(fields, "sparing", "k", "sensitive", "other");
    const codes = integer(k, "sparing", "k", 2n, 1n << 20n);
    const listed = integers(sensitive, "sparing", "sensitive", 0n, codes - 1n);
    return new Sparing(codes, listed, unit(other, "sparing", "other"));
  }
}

Object.assign(NODES, { window: Window.read, noise: Noise.read, sparing: Sparing.read });
