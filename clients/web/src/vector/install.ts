/**
 * Nodes and domains for vectors. They are written inside a function that is given the classes of the main bundle, so
 * that both bundles share them.
 */
import type { Code, Words } from "../channel/channel";
import type { Rounding as Grid } from "../channel/numeric";
import type { Sets } from "../more/sets";
import type { Channel as AnyChannel } from "../channel/channel";
import type { Coins } from "../core/coins";
import type { Fraction as Exact } from "../core/fraction";
import type { Spec } from "../core/json";
import type * as kit from "../kit";

type Kit = typeof kit;
type Entry = [bigint, Exact];

export function install(given: Kit): void {
  const { Channel, NODES, NO_WORDS, channelFrom, infinite, informative, unit } = given;
  const { choose, Subset, Block, HadamardSets, SETS, Choice, number, PLACES, Rounding } = given;
  const { bitCount, bitLength, ceilDiv, FINE, low, running, sum, UNIT, flipsSpan } = given;
  const { decimal, decimalText, need, refuse, Fraction, largest, smallest, ONE, total, units, ZERO } = given;
  const { canonical, integer, integers, list, take, Domain, DOMAINS, exactNumber, Integers, Interval, outside } = given;

  const MOST_COORDINATES = 1 << 16;
  const LONG = 0.7315936251849027;
  const HALF = UNIT / 2n;

  // --- domains -------------------------------------------------------------------------------------
  /** A list of numbers that all have the same range. */
  class Box extends Domain {
    readonly kind = "box";
    private readonly side: InstanceType<typeof Interval>;
    constructor(
      readonly spec: Spec,
      readonly low: Exact,
      readonly high: Exact,
      readonly dimensions: number,
    ) {
      super();
      this.side = new Interval(spec, low, high);
    }
    override get coordinates(): readonly InstanceType<typeof Domain>[] {
      return Array(this.dimensions).fill(this.side);
    }
    encode(value: unknown): Code[] {
      const ends = `[${decimalText(this.low)}, ${decimalText(this.high)}]`;
      const listed = Array.isArray(value) || value instanceof Float64Array ? Array.from(value as number[]) : [];
      const fits = (one: unknown): boolean => {
        const found = exactNumber(one);
        return found !== null && found.compare(this.low) >= 0 && found.compare(this.high) <= 0;
      };
      if (listed.length !== this.dimensions || !listed.every(fits)) outside(`a list of ${this.dimensions} numbers in ${ends}`);
      return listed.map((one) => exactNumber(one));
    }
    static read(rest: Spec, spec: Spec): Box {
      const [from, to, dimensions] = take(rest, "box", "low", "high", "dimensions");
      const size = integer(dimensions, "box", "dimensions", 1n, BigInt(MOST_COORDINATES));
      return new Box(spec, decimal(from, "box", "low"), decimal(to, "box", "high"), Number(size));
    }
  }

  /** A long vector with few nonzero numbers: a map from places to numbers, or a list of pairs. */
  class Sparse extends Domain {
    readonly kind = "sparse";
    private readonly places: InstanceType<typeof Integers>;
    private readonly side: InstanceType<typeof Interval>;
    constructor(
      readonly spec: Spec,
      readonly dimensions: number,
      readonly most: number,
      readonly bound: Exact,
    ) {
      super();
      need(bound.n > 0n, "The 'bound' of sparse must be above 0.");
      this.places = new Integers(spec, 0n, BigInt(dimensions - 1));
      this.side = new Interval(spec, ZERO.minus(bound), bound);
    }
    encode(value: unknown): Entry[] {
      const end = decimalText(this.bound);
      const wrong = (): never =>
        outside(`a map from different places below ${this.dimensions} to numbers in [-${end}, ${end}], at most ${this.most} of them nonzero`);
      const listed: unknown[] =
        value instanceof Map ? [...value] : Array.isArray(value) ? value : isObject(value) ? keyed(value) : wrong();
      // A filler is read for each empty slot, so that the time does not depend on the number of entries.
      const filler = LONG * Number(this.bound.n) / Number(this.bound.d);
      const padded = [...listed, ...Array(Math.max(0, this.most - listed.length)).fill([0, filler])];
      let read: Entry[] = [];
      try {
        read = padded.map((entry) => {
          if (!Array.isArray(entry) || entry.length !== 2) wrong();
          return [this.places.encode(entry[0]), this.side.encode(entry[1])];
        });
      } catch {
        wrong();
      }
      const own = read.slice(0, listed.length);
      const held = own.filter(([, one]) => one.n !== 0n).sort((a, b) => (a[0] < b[0] ? -1 : 1));
      if (new Set(own.map(([place]) => place)).size < own.length || held.length > this.most) wrong();
      return held;
    }
    static read(rest: Spec, spec: Spec): Sparse {
      const [dimensions, most, bound] = take(rest, "sparse", "dimensions", "most", "bound");
      const size = integer(dimensions, "sparse", "dimensions", 2n, 1n << 20n);
      const few = integer(most, "sparse", "most", 1n, size < 4096n ? size : 4096n);
      return new Sparse(spec, Number(size), Number(few), decimal(bound, "sparse", "bound"));
    }
  }

  function isObject(value: unknown): value is object {
    return typeof value === "object" && value !== null;
  }

  function keyed(value: object): [unknown, unknown][] {
    return Object.entries(value).map(([place, one]) => [/^(0|[1-9]\d{0,15})$/.test(place) ? Number(place) : null, one]);
  }

  // --- sparse vectors ------------------------------------------------------------------------------
  /** What channels for sparse vectors share. */
  abstract class Slots extends Channel {
    readonly grid: Grid;
    readonly size: number;
    readonly most: number;
    private readonly filler: Exact;
    constructor(readonly vectors: Sparse) {
      super();
      this.size = vectors.dimensions;
      this.most = vectors.most;
      this.grid = new Rounding(ZERO.minus(vectors.bound), vectors.bound, 1n);
      const { n, d } = vectors.bound;
      this.filler = exactNumber((LONG * Number(n)) / Number(d)) ?? ZERO;
    }
    override get dimensions(): number {
      return this.size;
    }
    override get sparse(): string {
      return canonical(this.vectors.spec);
    }
    override get codesAreIndices(): boolean {
      return false;
    }
    get inputs(): bigint {
      let [all, filled] = [1n, 1n];
      for (let held = 0; held < this.most; held++) {
        filled = (2n * filled * BigInt(this.size - held)) / BigInt(held + 1);
        all += filled;
      }
      return all;
    }
    /** As many entries as there are slots; an empty slot holds a number beyond the last place. */
    protected padded(code: Entry[]): Entry[] {
      return [...code, ...Array(this.most - code.length).fill([BigInt(this.size), this.filler])];
    }
    /** Whether a number is rounded to the upper end. */
    protected rises(one: Exact, coins: Coins): boolean {
      return coins.flip(this.grid.position(one) << BigInt(FINE - PLACES));
    }
    likelihood(_report: bigint, _code: Code): Exact {
      return refuse("The law of this channel is not enumerated in a browser.");
    }
  }

  function vectorsFrom(owner: string, dimensions: unknown, most: unknown, bound: unknown): Sparse {
    const numbers = { dimensions: integer(dimensions, owner, "dimensions"), most: integer(most, owner, "most") };
    const rest = { ...numbers, bound: bound as string };
    return Sparse.read(rest, { kind: "sparse", ...rest });
  }

  /** One random entry of a sparse vector, as its place and a sign; the first stage of a report. */
  class Place extends Slots {
    readonly kind = "place";
    get words(): number {
      return 2;
    }
    override get outputs(): bigint {
      return BigInt(2 * this.size);
    }
    get payloadBits(): number {
      return bitLength(this.outputs - 1n);
    }
    contains(report: bigint): boolean {
      return report >= 0n && report < this.outputs;
    }
    sample(code: Entry[], coins: Coins): bigint {
      const slots = this.padded(code);
      const slot = Number(coins.below(BigInt(this.most)));
      const filled = slot < code.length;
      const [place, one] = slots[slot]!;
      const signs = BigInt(2 * (this.size - code.length) || 1);
      const drawn = coins.either<bigint>(
        filled,
        (source) => BigInt(this.rises(one, source)),
        (source) => source.below(signs),
      );
      let empty = drawn / 2n;
      for (const [held] of slots) empty += BigInt(empty >= held);
      return filled ? 2n * place + BigInt(!drawn) : 2n * empty + (drawn % 2n);
    }
    ratio(): Exact {
      return infinite();
    }
    /** The vectors whose numbers are zero or at an end. */
    override *codes(): Iterable<Entry[]> {
      const { bound } = this.vectors;
      const longer = (code: Entry[], from: number): Entry[][] => {
        const found = [code];
        if (code.length < this.most)
          for (let place = from; place < this.size; place++)
            for (const end of [bound, ZERO.minus(bound)]) found.push(...longer([...code, [BigInt(place), end]], place + 1));
        return found;
      };
      yield* longer([], 0);
    }
    override likelihood(report: bigint, code: Entry[]): Exact {
      const most = BigInt(this.most);
      for (const [held, one] of code)
        if (held === report / 2n) {
          const plus = Fraction.of(this.grid.position(one), (1n << BigInt(PLACES)) * most);
          return report % 2n ? Fraction.of(1n, most).minus(plus) : plus;
        }
      const empty = this.most - code.length;
      return empty ? Fraction.of(BigInt(empty), 2n * most * BigInt(this.size - code.length)) : ZERO;
    }
    /** The ratio of this and a second stage; null if no closed form is known. */
    ratioBefore(second: AnyChannel): Exact | null {
      let together: bigint | null = null;
      if (second instanceof Block) together = second.sets.together ?? null;
      else if (second instanceof Subset && second.w <= BigInt(this.size)) together = second.w;
      if (this.most !== 1 && together === null) return null;
      const most = BigInt(this.most);
      const hit = this.most === 1 || together! < 1n ? 1n : together! < most ? together! : most;
      return Fraction.of(hit).times(second.ratio()).plus(Fraction.of(most - hit)).over(Fraction.of(most));
    }
    static read(fields: Spec): Place {
      const [dimensions, most, bound] = take(fields, "place", "dimensions", "most", "bound");
      return new Place(vectorsFrom("place", dimensions, most, bound));
    }
  }

  /** Places with a sign as halves of a Hadamard row. */
  class SignedSets implements Sets {
    readonly codes: bigint;
    readonly outputs: bigint;
    readonly size: bigint;
    readonly together: bigint;
    private readonly rows: InstanceType<typeof HadamardSets>;
    constructor(
      dimensions: bigint,
      readonly order: bigint,
      readonly groups: bigint,
    ) {
      this.rows = new HadamardSets(dimensions, order, groups);
      this.codes = 2n * dimensions;
      this.outputs = order * groups;
      this.size = order / 2n;
      this.together = ceilDiv(dimensions, groups);
    }
    member(code: bigint, output: bigint): boolean {
      const place = code / 2n;
      return output / this.order === place % this.groups && this.rows.member(place, output) !== (code % 2n === 1n);
    }
    output(code: bigint, index: bigint, inside: boolean): bigint {
      const place = code / 2n;
      const found = this.rows.output(place, index, inside);
      const row = place / this.groups + 1n;
      const turned = found / this.order === place % this.groups ? code % 2n : 0n;
      return found ^ ((row & -row) * turned);
    }
    static read(spec: Spec): SignedSets {
      const [dimensions, order, groups] = take(spec, "signed", "dimensions", "order", "groups").map((one) =>
        integer(one, "signed", "sizes"),
      );
      return new SignedSets(dimensions!, order!, groups!);
    }
  }

  const MOST_SLOTS = 48;

  /** A sign for every place, fair where there is no entry, and agreeing with the entries more often than by chance. */
  class Signs extends Slots {
    readonly kind = "signs";
    private readonly many: bigint;
    private readonly few: bigint;
    constructor(
      vectors: Sparse,
      readonly least: number,
      readonly inside: bigint,
    ) {
      super(vectors);
      need(this.most <= MOST_SLOTS && least >= 1 && least <= this.most, "These signs have too many slots.");
      let many = 0n;
      for (let held = least; held <= this.most; held++) many += choose(BigInt(this.most), BigInt(held));
      this.many = many;
      this.few = (1n << BigInt(this.most)) - many;
      informative(this.kind, units(inside), Fraction.of(this.many, this.many + this.few));
    }
    get words(): number {
      return 2 + this.most + flipsSpan(this.size, HALF);
    }
    get payloadBits(): number {
      return this.size;
    }
    contains(report: bigint): boolean {
      return report >= 0n && report <= low(this.size);
    }
    sample(code: Entry[], coins: Coins): bigint {
      const slots = this.padded(code);
      const inside = coins.flip(this.inside);
      const index = coins.below(inside ? this.many : this.few);
      const agreeing = pattern(index, inside ? this.least : 0, this.most);
      let [held, flipped] = [0n, 0n];
      slots.forEach(([place, one], slot) => {
        const plus = coins.when(slot < code.length, (source) => this.rises(one, source));
        held |= 1n << place;
        flipped |= BigInt(BigInt(plus) === ((agreeing >> BigInt(slot)) & 1n)) << place;
      });
      return ((coins.flips(this.size, HALF) & ~held) | flipped) & low(this.size);
    }
    ratio(): Exact {
      return Fraction.of(this.inside * this.few, this.many * (UNIT - this.inside));
    }
    static read(fields: Spec): Signs {
      const [dimensions, most, bound, least, inside] = take(fields, "signs", "dimensions", "most", "bound", "least", "inside");
      const vectors = vectorsFrom("signs", dimensions, most, bound);
      const few = integer(least, "signs", "least", 1n, BigInt(vectors.most));
      return new Signs(vectors, Number(few), unit(inside, "signs", "inside"));
    }
  }

  /** The index-th subset of slots as a mask: smaller subsets first, from `least` elements on. */
  function pattern(index: bigint, least: number, most: number): bigint {
    let size = least;
    for (let step = 0; step < most; step++) {
      const count = choose(BigInt(most), BigInt(size));
      const passed = index >= count && size <= most;
      if (passed) index -= count;
      size += Number(passed);
    }
    let mask = 0n;
    for (let slot = most - 1; slot >= 0; slot--) {
      const without = choose(BigInt(slot), BigInt(size));
      const held = index >= without;
      if (held) index -= without;
      mask |= BigInt(held) << BigInt(slot);
      size -= Number(held);
    }
    return mask;
  }

  const TRIES = 4; // draws of a slot that must not agree, for which the span has room
  const [AGREES, DISAGREES, SILENT] = [0, 1, 2];

  /** Signs of a few places; some sign agrees with an entry more often than by chance. */
  class Hints extends Slots {
    readonly kind = "hints";
    private readonly chances: bigint[];
    private readonly begin: bigint[];
    constructor(
      vectors: Sparse,
      readonly speak: bigint,
      readonly firsts: bigint[],
    ) {
      super(vectors);
      need(this.most <= MOST_SLOTS, "These hints have too many slots.");
      need(firsts.length === this.most && sum(firsts) < UNIT, "Hints have one share for each slot, which leave a rest.");
      this.chances = [speak, 2n * speak, UNIT];
      this.begin = [...running(firsts), UNIT];
      need(this.slope().n > 0n, "The reports of this hints channel are independent of the answer.");
    }
    private shares(): Exact[] {
      return [...this.firsts, UNIT - sum(this.firsts)].map(units);
    }
    private slope(): Exact {
      const one = units(this.speak);
      const shares = this.shares();
      const before = total(shares.map((share, slot) => Fraction.of(BigInt(slot)).times(share)));
      return total(shares.slice(0, -1)).minus(one.over(ONE.minus(one)).times(before));
    }
    private get width(): number {
      return Math.ceil(this.size / 64) * 64;
    }
    get words(): number {
      return 2 + (TRIES + 1) * this.most + flipsSpan(this.size, 2n * this.speak) + flipsSpan(this.size, HALF);
    }
    get payloadBits(): number {
      return this.width + this.size;
    }
    contains(report: bigint): boolean {
      if (report < 0n) return false;
      const [plus, minus] = [report & low(this.width), report >> BigInt(this.width)];
      return plus <= low(this.size) && minus <= low(this.size) && !(plus & minus);
    }
    sample(code: Entry[], coins: Coins): bigint {
      const slots = this.padded(code);
      const turn = Number(coins.below(BigInt(this.most)));
      const first = coins.pick(this.begin);
      const drawn = slots.map((_, slot) =>
        coins.when((slot - turn + this.most) % this.most < code.length, (source) => this.state(slot, first, source)),
      );
      let held = 0n;
      const said: [bigint, bigint] = [0n, 0n];
      slots.forEach(([place, one], entry) => {
        const state = drawn[(entry + turn) % this.most]!;
        const plus = coins.when(entry < code.length, (source) => this.rises(one, source));
        held |= 1n << place;
        said[Number(plus === (state === DISAGREES))]! |= BigInt(state !== SILENT) << place;
      });
      const speaking = coins.flips(this.size, 2n * this.speak) & ~held;
      const signs = coins.flips(this.size, HALF);
      const plus = ((speaking & signs) | said[0]) & low(this.size);
      const minus = ((speaking & ~signs) | said[1]) & low(this.size);
      return plus | (minus << BigInt(this.width));
    }
    private state(slot: number, first: number, coins: Coins): number {
      const chance = (source: Coins): number => source.pick(this.chances);
      const other = (source: Coins): number =>
        source.either(slot < first, (inner) => inner.until(chance, (state) => state !== AGREES, TRIES), chance);
      const state = coins.when(slot !== first, other);
      return slot === first ? AGREES! : state;
    }
    ratio(): Exact {
      const one = units(this.speak);
      const silent = ONE.minus(one);
      const shares = this.shares();
      const gained = [ZERO];
      this.firsts.forEach((_, slot) => gained.push(gained[slot]!.plus(shares[slot]!.over(one.times(silent.power(slot))))));
      const best = [ZERO];
      const worst = [ZERO];
      for (let length = 1; length <= this.most; length++) {
        const gaps = (known: Exact[]): Exact[] => Array.from({ length }, (_, i) => gained[i + 1]!.plus(known[length - i - 1]!));
        const [more, less] = [gaps(best), gaps(worst)];
        best.push(largest(more, more[0]!));
        worst.push(smallest(less, less[0]!));
      }
      const slots = Fraction.of(BigInt(this.most));
      const nowhere = shares[this.most]!.over(silent.power(this.most));
      const ends = [nowhere, best[this.most]!.over(slots), worst[this.most]!.over(slots)];
      return largest(ends, nowhere).over(smallest(ends, nowhere));
    }
    static read(fields: Spec): Hints {
      const [dimensions, most, bound, speak, firsts] = take(fields, "hints", "dimensions", "most", "bound", "speak", "firsts");
      const vectors = vectorsFrom("hints", dimensions, most, bound);
      const often = integer(speak, "hints", "speak", 1n, HALF - 1n);
      return new Hints(vectors, often, integers(firsts, "hints", "firsts", 1n, UNIT - 1n));
    }
  }

  // --- vectors of numbers --------------------------------------------------------------------------
  /** The grids of the coordinates; a run of equal grids is written once. */
  function gridsFrom(spec: unknown, owner: string): Grid[] {
    const grids: Grid[] = [];
    let before = "";
    for (const run of list(spec, owner, "grids")) {
      const [count, fields] = take(run, "a run of grids", "count", "grid");
      const grid = channelFrom(fields);
      need(grid instanceof Rounding, `The coordinates of a ${owner} channel must be roundings.`);
      need(canonical(fields!) !== before, "A run of equal grids is written once.");
      before = canonical(fields!);
      const times = Number(integer(count, "a run of grids", "count", 1n, BigInt(MOST_COORDINATES)));
      need(grids.length + times <= MOST_COORDINATES, `A ${owner} channel has too many coordinates.`);
      for (let i = 0; i < times; i++) grids.push(grid as Grid);
    }
    need(
      grids.length > 0 && grids.every((grid) => grid.steps === grids[0]!.steps),
      `The coordinates of a ${owner} channel must have grids with the same number of steps.`,
    );
    return grids;
  }

  const TIED_TRIES = 8;

  /** The signs of a vector, drawn uniformly or from those that point to the same side as the answer. */
  class HalfSpace extends Channel {
    readonly kind = "half-space";
    constructor(
      readonly grids: Grid[],
      readonly inside: bigint,
    ) {
      super();
      need(grids[0]!.steps === 1n, "The grids of a half-space channel must have one step, from end to end.");
    }
    override get dimensions(): number {
      return this.grids.length;
    }
    override get roundings(): readonly Grid[] {
      return this.grids;
    }
    get inputs(): bigint {
      return 1n << BigInt(this.dimensions);
    }
    override get codesAreIndices(): boolean {
      return false;
    }
    private get tied(): number {
      return this.dimensions % 2 ? 1 : TIED_TRIES;
    }
    get words(): number {
      return this.dimensions + 1 + this.tied * flipsSpan(this.dimensions, HALF);
    }
    get payloadBits(): number {
      return this.dimensions;
    }
    contains(report: bigint): boolean {
      return report >= 0n && report <= low(this.dimensions);
    }
    sample(code: Code[], coins: Coins): bigint {
      const width = this.dimensions;
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
    ratio(): Exact {
      const width = BigInt(this.dimensions);
      const ties = width % 2n ? 0n : choose(width, width / 2n);
      const half = (this.inputs - ties) / 2n;
      return ONE.plus(Fraction.of(this.inside * this.inputs, half * (UNIT - this.inside)));
    }
    likelihood(): never {
      return refuse("The law of this channel is not enumerated in a browser.");
    }
    static read(fields: Spec): HalfSpace {
      const [grids, inside] = take(fields, "half-space", "grids", "inside");
      return new HalfSpace(gridsFrom(grids, "half-space"), unit(inside, "half-space", "inside"));
    }
  }

  /** A few coordinates, chosen by public words, each through the same channel. */
  class SampledCoordinates extends Channel {
    readonly kind = "sampled-coordinates";
    private readonly choice: InstanceType<typeof Choice>;
    constructor(
      readonly grids: Grid[],
      readonly inner: AnyChannel,
      readonly count: number,
      bits: number,
    ) {
      super();
      need([2, 8, 64].includes(bits), "The 'bits' of sampled-coordinates must be 64, or few in proofs.");
      this.choice = new Choice(BigInt(grids.length), bits);
      need(
        inner.outputs !== null && inner.dimensions === null && !inner.publics && !inner.stages,
        "The channel of a coordinate must have numbered reports and no public words.",
      );
      need(
        inner.inputs === grids[0]!.steps + 1n && inner.codesAreIndices,
        "The channel of a coordinate must take every point of its grid.",
      );
    }
    override get dimensions(): number {
      return this.grids.length;
    }
    override get roundings(): readonly Grid[] {
      return this.grids;
    }
    override get parts(): readonly AnyChannel[] {
      return [...new Set(this.grids), this.inner];
    }
    override get publics(): number {
      return this.count === this.grids.length ? 0 : 1;
    }
    override accepts(words: Words): boolean {
      return !this.publics || this.choice.accepts(words);
    }
    override get tries(): Exact {
      return this.publics ? this.choice.tries : ONE;
    }
    get inputs(): bigint {
      return (this.grids[0]!.steps + 1n) ** BigInt(this.grids.length);
    }
    override get codesAreIndices(): boolean {
      return false;
    }
    get words(): number {
      return this.count * (1 + this.inner.words);
    }
    get payloadBits(): number {
      return this.count * this.inner.payloadBits;
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
    contains(report: bigint): boolean {
      const width = this.inner.payloadBits;
      if (report < 0n || report > low(this.payloadBits)) return false;
      for (let place = 0; place < this.count; place++)
        if (!this.inner.contains((report >> BigInt(place * width)) & low(width))) return false;
      return true;
    }
    ratio(): Exact {
      return this.inner.ratio().power(this.count);
    }
    likelihood(): never {
      return refuse("The law of this channel is not enumerated in a browser.");
    }
    static read(fields: Spec): SampledCoordinates {
      const owner = "sampled-coordinates";
      const [grids, inner, count, bits] = take(fields, owner, "grids", "inner", "count", "bits");
      const read = gridsFrom(grids, owner);
      const few = integer(count, owner, "count", 1n, BigInt(read.length));
      return new SampledCoordinates(read, channelFrom(inner), Number(few), Number(integer(bits, owner, "bits")));
    }
  }

  Object.assign(DOMAINS, { box: Box.read, sparse: Sparse.read });
  Object.assign(SETS, { signed: SignedSets.read });
  Object.assign(NODES, {
    place: Place.read,
    signs: Signs.read,
    hints: Hints.read,
    "half-space": HalfSpace.read,
    "sampled-coordinates": SampledCoordinates.read,
  });
}
