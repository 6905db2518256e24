/** Keys with numbers, and the channels that report them. */
import { Channel, channelFrom, NO_WORDS, NODES, unit, type Words } from "../channel/channel";
import { Subset } from "../channel/finite";
import { Choice, wordBits } from "../channel/maps";
import { PLACES, Rounding } from "../channel/numeric";
import { FINE } from "../core/bytes";
import type { Coins } from "../core/coins";
import { decimal, decimalText } from "../core/decimal";
import { refuse } from "../core/errors";
import { Fraction, larger, ONE, smallest, units, ZERO } from "../core/fraction";
import { count, define, integer, listOf, ranged, valid } from "../core/read";
import { Categories, Domain, domainFrom, DOMAINS, Integers, outside, type Range } from "../domain/domain";

const WHOLE = 1n << BigInt(PLACES);
type Entry = [bigint, Fraction];

/** Some of a list of keys, each with a number. The code holds keys by their places, with numbers between -1 and 1. */
class KeyValue extends Domain {
  readonly keys: Categories;
  constructor(
    keys: (string | bigint)[],
    readonly value: Domain,
    readonly most: bigint,
  ) {
    super();
    this.keys = new Categories(keys);
    valid(this.keys.size! <= 1n << 15n, "keys");
    valid(keys.every((one) => typeof one === "bigint" || (one && one === one.trim() && !/[;=]/.test(one))), "keys");
    ranged(most, 1n, this.keys.size!, "most");
    valid(value.numbers !== null, "value");
    this.ticks = `${this.keys.size} ${most} keys`;
  }
  encode(answer: unknown): Entry[] {
    const mustBe = `a mapping from at most ${this.most} different keys, of the ${this.keys.size} of the question, to numbers`;
    const listed: unknown[] = answer instanceof Map ? [...answer] : Array.isArray(answer) ? answer : answer && typeof answer === "object" ? Object.entries(answer) : outside(mustBe);
    if (listed.length > Number(this.most)) outside(mustBe);
    const { low, high } = this.value.numbers!;
    const filler = [this.keys.values[0], this.value instanceof Integers ? this.value.low : Number(low.plus(high).n) / Number(low.plus(high).d) / 2];
    const padded = [...listed, ...Array(Number(this.most) - listed.length).fill(filler)];
    let read: Entry[] = [];
    try {
      read = padded.map((entry) => {
        if (!Array.isArray(entry) || entry.length !== 2) outside(mustBe);
        const number = this.value.encode(entry[1]) as Fraction | bigint;
        const code = typeof number === "bigint" ? Fraction.of(number) : number;
        return [this.keys.encode(entry[0]), code.plus(code).minus(low).minus(high).over(high.minus(low))];
      });
    } catch {
      outside(mustBe);
    }
    const held = read.slice(0, listed.length).sort((a, b) => (a[0] < b[0] ? -1 : 1));
    return new Set(held.map(([place]) => place)).size < held.length ? outside(mustBe) : held;
  }
  override label(code: bigint): string {
    return this.keys.label(code);
  }
  /** The lower or the upper end of the numbers, as a text. */
  end(upper: boolean): string {
    const { bottom, top } = this.value as Range;
    return decimalText(upper ? top : bottom);
  }
  /** Entries with semicolons between them, such as "bus = 3; car = 5". */
  override typed(written: string): unknown {
    const entries = written.split(";").filter((one) => one.trim());
    return entries.map((one) => {
      const [key, ...rest] = one.split("=");
      return [this.keys.typed(key!.trim()), this.value.typed(rest.join("=").trim())];
    });
  }
}

/** How many answers there are whose numbers are at an end. */
function corners(size: number, most: number): bigint {
  let [all, filled] = [1n, 1n];
  for (let held = 0; held < most; held++) {
    filled = (2n * filled * BigInt(size - held)) / BigInt(held + 1);
    all += filled;
  }
  return all;
}

/** A key that a report names, and whether it says the upper end; null where it says no end. */
type NamedKey = [bigint, boolean | null];

/** What channels of keys with numbers share: codes are lists of a key and a number. */
abstract class Keys extends Channel {
  protected readonly grid: Rounding;
  constructor(
    readonly size: number,
    readonly most: number,
    bound: Fraction,
    words: number,
    outputs: bigint | null,
    payloadBits?: number,
  ) {
    valid(most >= 1 && most <= size && bound.equals(ONE), "most");
    super(corners(size, most), words, outputs, payloadBits);
    this.grid = new Rounding(ZERO.minus(ONE), ONE, 1n);
    this.codesAreIndices = false;
    this.ticks = `${size} ${most} keys`;
  }
  /** As many entries as there are slots; an empty slot holds a number beyond the last key. */
  protected padded(code: Entry[]): Entry[] {
    return [...code, ...Array<Entry>(this.most - code.length).fill([BigInt(this.size), Fraction.of(3n, 7n)])];
  }
  protected rises(one: Fraction, coins: Coins): boolean {
    return coins.flip(this.grid.position(one) << BigInt(FINE - PLACES));
  }
  protected upper(one: Fraction): Fraction {
    return Fraction.of(this.grid.position(one), WHOLE);
  }
  /** The keys that a report names. */
  abstract keysOf(report: bigint, words: Words): NamedKey[];
  /** Answers whose numbers are at an end. */
  override *codes(): Iterable<Entry[]> {
    const longer = (code: Entry[], from: number): Entry[][] => {
      const found = [code];
      if (code.length < this.most)
        for (let place = from; place < this.size; place++)
          for (const end of [ONE, ZERO.minus(ONE)]) found.push(...longer([...code, [BigInt(place), end]], place + 1));
      return found;
    };
    yield* longer([], 0);
  }
}

/** A set of the keys held, or of the ends to which their numbers are rounded; the lowest bit of a report says which. */
class KeyEnds extends Keys {
  constructor(
    size: number,
    most: number,
    bound: Fraction,
    private readonly weight: bigint,
    private readonly plain: Channel,
    private readonly ends: Channel,
  ) {
    valid(plain.ticks === `${size} ${most}` && ends.ticks === `${2 * size} ${most}`, "ends");
    super(size, most, bound, 1 + most + plain.words + ends.words, null, 1 + Math.max(plain.payloadBits, ends.payloadBits));
    this.parts = [plain, ends];
    this.publics = Math.max(plain.publics, ends.publics);
  }
  sample(code: Entry[], coins: Coins, words: Words = NO_WORDS): bigint {
    const begin = coins.position;
    const aboutEnds = coins.flip(this.weight);
    let [keys, ends] = [0n, 0n];
    this.padded(code).forEach(([place, one], slot) => {
      const filled = BigInt(slot < code.length);
      const low = BigInt(!this.rises(one, coins));
      keys |= filled << place;
      ends |= filled << (2n * place + low);
    });
    const plain = coins.when(!aboutEnds, (source) => this.plain.sample(keys, source, words));
    coins.seek(begin + 1 + this.most + this.plain.words);
    const fine = coins.when(aboutEnds, (source) => this.ends.sample(ends, source, words));
    return ((aboutEnds ? fine : plain) << 1n) | BigInt(aboutEnds);
  }
  keysOf(report: bigint, words: Words): NamedKey[] {
    const named = (sets: Channel): bigint[] => (sets as Channel & { named(report: bigint, words: Words): bigint[] }).named(report >> 1n, words);
    return report & 1n ? named(this.ends).map((end) => [end >> 1n, !(end & 1n)]) : named(this.plain).map((key) => [key, null]);
  }
  override contains(report: bigint): boolean {
    return report >= 0n && (report & 1n ? this.ends : this.plain).contains(report >> 1n);
  }
  ratio(): Fraction {
    return larger(this.plain.ratio(), this.ends.ratio());
  }
  likelihood(report: bigint, code: Entry[], words: Words = NO_WORDS): Fraction {
    const about = units(this.weight);
    if (!(report & 1n)) {
      const keys = code.reduce((all, [place]) => all | (1n << place), 0n);
      return ONE.minus(about).times(this.plain.likelihood(report >> 1n, keys, words));
    }
    if (code.length > 12) return refuse("This channel is too large for a browser.");
    let drawn: [Fraction, bigint][] = [[ONE, 0n]];
    for (const [place, one] of code) {
      const up = this.upper(one);
      const ends: [Fraction, bigint][] = [[up, 2n * place], [ONE.minus(up), 2n * place + 1n]];
      drawn = drawn.flatMap(([chance, set]) =>
        ends.filter(([part]) => part.n).map(([part, end]): [Fraction, bigint] => [chance.times(part), set | (1n << end)]),
      );
    }
    const all = drawn.map(([chance, set]) => chance.times(this.ends.likelihood(report >> 1n, set, words)));
    return about.times(all.reduce((sum, one) => sum.plus(one), ZERO));
  }
}

/** The report's id chooses a key; the inner channel randomizes whether it is held, and one end of its number. */
class AskedKey extends Keys {
  private readonly choice: Choice;
  constructor(
    size: number,
    most: number,
    bound: Fraction,
    private readonly inner: Channel,
    bits: bigint,
  ) {
    valid(inner.inputs === 3n && inner.codesAreIndices && inner.outputs !== null && !inner.publics, "channel");
    super(size, most, bound, 1 + inner.words, inner.outputs, inner.payloadBits);
    this.choice = new Choice(BigInt(size), wordBits(bits, 2n, 4n));
    this.tries = this.choice.tries;
    this.parts = [inner];
    this.publics = 1;
  }
  override accepts(words: Words): boolean {
    return this.choice.accepts(words);
  }
  private asked(code: Entry[], words: Words): [boolean, Fraction] {
    const asked = this.choice.of(words);
    let [held, number] = [false, ZERO];
    for (const [place, own] of this.padded(code)) {
      const mine = place === asked;
      held = held || mine;
      number = mine ? own : number;
    }
    return [held, number];
  }
  keysOf(report: bigint, words: Words): NamedKey[] {
    const chances = [0n, 1n, 2n].map((state) => this.inner.likelihood(report, state));
    const state = chances.findIndex((one) => chances.every((other) => other.compare(one) <= 0));
    return state ? [[this.choice.of(words), state === 2]] : [];
  }
  sample(code: Entry[], coins: Coins, words: Words = NO_WORDS): bigint {
    const [held, number] = this.asked(code, words);
    const up = this.rises(number, coins);
    return this.inner.sample(BigInt(held) * (1n + BigInt(up)), coins);
  }
  override contains(report: bigint): boolean {
    return this.inner.contains(report);
  }
  ratio(): Fraction {
    return this.inner.ratio();
  }
  likelihood(report: bigint, code: Entry[], words: Words = NO_WORDS): Fraction {
    const [held, number] = this.asked(code, words);
    if (!held) return this.inner.likelihood(report, 0n);
    const up = this.upper(number);
    return ONE.minus(up).times(this.inner.likelihood(report, 1n)).plus(up.times(this.inner.likelihood(report, 2n)));
  }
}

/** One of the slots, drawn uniformly; the inner channel randomizes its key and its number. */
class SampledKey extends Keys {
  constructor(
    size: number,
    most: number,
    bound: Fraction,
    private readonly inner: Channel,
  ) {
    const [key, ends] = inner.parts;
    valid(inner.kind === "keyed" && key instanceof Subset && key.w === 1n && key.inputs === BigInt(size + most), "channel");
    valid(!!ends!.rounding && ends!.rounding.low.equals(ZERO.minus(ONE)) && ends!.rounding.high.equals(ONE), "channel");
    super(size, most, bound, 1 + inner.words, inner.outputs, inner.payloadBits);
    this.parts = [inner];
  }
  keysOf(report: bigint): NamedKey[] {
    const ends = this.inner.outputs! / BigInt(this.size + this.most);
    const place = report / ends;
    const [low, high] = [ZERO.minus(ONE), ONE].map((end) => this.inner.likelihood(report, [place, end]));
    return place < BigInt(this.size) ? [[place, high!.compare(low!) > 0]] : [];
  }
  private elements(code: Entry[]): Entry[] {
    return this.padded(code).map((entry, slot) => (slot < code.length ? entry : [BigInt(this.size + slot), ZERO]));
  }
  sample(code: Entry[], coins: Coins): bigint {
    const elements = this.elements(code);
    return this.inner.sample(elements[Number(coins.below(BigInt(this.most)))]!, coins);
  }
  override contains(report: bigint): boolean {
    return this.inner.contains(report);
  }
  /** A report names the group of one slot at most; of two ends and a group that is not held, the extremes decide. */
  ratio(): Fraction {
    const outputs = this.inner.outputs! / BigInt(this.size + this.most);
    const rest = Fraction.of(BigInt(this.most - 1));
    const group = BigInt(this.size); // a filler
    let worst = ONE;
    for (let report = 0n; report < outputs; report++) {
      const absent = this.inner.likelihood(report + group * outputs, [0n, ZERO]);
      const levels = [absent];
      for (const end of [ONE, ZERO.minus(ONE)]) {
        const own = this.inner.likelihood(report + group * outputs, [group, end]);
        levels.push(own.plus(rest.times(absent)).over(Fraction.of(BigInt(this.most))));
      }
      worst = larger(worst, levels.reduce(larger).over(smallest(levels)));
    }
    return worst;
  }
  likelihood(report: bigint, code: Entry[]): Fraction {
    const all = this.elements(code).map((element) => this.inner.likelihood(report, element));
    return all.reduce((sum, one) => sum.plus(one), ZERO).over(Fraction.of(BigInt(this.most)));
  }
}

const number = integer();
const KEYS = { dimensions: count(2n, 1n << 20n), most: count(1n, 4096n), bound: decimal };
define(DOMAINS, "key-value", KeyValue, {
  keys: listOf((value) => (typeof value === "string" ? value : number(value))),
  value: domainFrom,
  most: number,
});
define(NODES, "key-ends", KeyEnds, { ...KEYS, weight: unit, plain: channelFrom, ends: channelFrom });
define(NODES, "asked-key", AskedKey, { ...KEYS, inner: channelFrom, bits: number });
define(NODES, "sampled-key", SampledKey, { ...KEYS, inner: channelFrom });
