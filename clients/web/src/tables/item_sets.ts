/** Sets of items, such as the boxes that a person ticks, and the channels that report them. */
import { Channel, channelFrom, informative, NO_WORDS, NODES, unit, type Words } from "../channel/channel";
import { choose, Subset } from "../channel/finite";
import { Choice, wordBits } from "../channel/maps";
import { bitCount, bitLength, mod, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { Fraction, larger, ONE, smallest, spend, units } from "../core/fraction";
import { count, define, integer, listOf, ranged, valid } from "../core/read";
import { Categories, Domain, domainFrom, DOMAINS, outside } from "../domain/domain";
import { View } from "../domain/views";

const MOST_ITEMS = 1n << 16n;
const MOST_RANKED = 90;
const MOST_HELD = 1n << 10n;
const LEAST = 1n << 20n; // units of the rarest first hit

/** Some of a list of items. The code has one bit for each item. */
class Sets extends Domain {
  readonly listed: Categories;
  constructor(
    items: (string | bigint)[],
    readonly most: bigint,
  ) {
    super();
    this.listed = new Categories(items);
    valid(this.listed.size! <= MOST_ITEMS, "items");
    valid(items.every((one) => typeof one === "bigint" || (one && one === one.trim() && !one.includes(";"))), "items");
    ranged(most, 1n, this.listed.size!, "most");
    this.ticks = `${this.listed.size} ${most}`;
  }
  encode(value: unknown): bigint {
    const mustBe = `a list of at most ${this.most} different items among the ${this.listed.size} of the question`;
    if (!Array.isArray(value) || value.length > Number(this.most)) return outside(mustBe);
    const items = [...value, ...Array(Number(this.most) - value.length).fill(this.listed.values[0])];
    let code = 0n;
    items.forEach((item, place) => {
      let bit = 0n;
      try {
        bit = 1n << this.listed.encode(item);
      } catch {
        outside(mustBe);
      }
      code |= place < value.length ? bit : 0n;
    });
    return bitCount(code) === value.length ? code : outside(mustBe);
  }
  override label(code: bigint): string {
    return this.listed.label(code);
  }
  /** Items with semicolons between them. */
  override typed(written: string): unknown {
    const items = written.split(";").map((one) => one.trim());
    return items.filter((one) => one).map((one) => this.listed.typed(one));
  }
}

/** All of a list of items in order. The code has one bit for each pair, 1 if the item that is listed earlier comes first. */
class Ranking extends Domain {
  readonly listed: Categories;
  readonly ranked: Categories;
  constructor(items: (string | bigint)[]) {
    super();
    this.ranked = new Categories(items);
    valid(items.length >= 3 && items.length <= MOST_RANKED, "items");
    valid(items.every((one) => typeof one === "bigint" || (one && one === one.trim() && !one.includes(">"))), "items");
    this.listed = new Categories(pairs(items.length).map(([first, second]) => `${items[first]} before ${items[second]}`));
    this.ticks = `${this.listed.size} ${this.listed.size}`;
  }
  encode(value: unknown): bigint {
    const { values } = this.ranked;
    const mustBe = `a list of all ${values.length} items of the question in order, each of them once`;
    if (!Array.isArray(value) || value.length !== values.length) return outside(mustBe);
    const places: number[] = [];
    value.forEach((item, place) => {
      try {
        places[Number(this.ranked.encode(item))] = place;
      } catch {
        outside(mustBe);
      }
    });
    if (Object.keys(places).length !== values.length) return outside(mustBe);
    return pairs(values.length).reduce((code, [first, second], pair) => code | (BigInt(places[first]! < places[second]!) << BigInt(pair)), 0n);
  }
  override label(code: bigint): string {
    return this.listed.label(code);
  }
  /** The two items of a pair, the one that is listed earlier first. */
  pair(code: bigint): string[] {
    return pairs(this.ranked.values.length)[Number(code)]!.map((item) => String(this.ranked.values[item]));
  }
  /** Items with `>` between them, the best one first. */
  override typed(written: string): unknown {
    return written.split(">").map((one) => this.ranked.typed(one.trim()));
  }
}

function pairs(count: number): [number, number][] {
  return Array.from({ length: count }, (_, first) => first).flatMap((first) =>
    Array.from({ length: count - first - 1 }, (_, place): [number, number] => [first, first + 1 + place]),
  );
}

/** Which of some itemsets a person holds: all of their items are held. */
class Itemsets extends View {
  readonly listed: Categories;
  readonly most: bigint;
  private readonly masks: bigint[] = [];
  constructor(of: Domain, members: number[], sizes: number[]) {
    super(of);
    const { listed, most } = of as Partial<Sets>;
    valid(listed, "of");
    valid(sizes.length >= 2 && sizes.reduce((sum, one) => sum + one, 0) === members.length, "sizes");
    let from = 0;
    const labels = sizes.map((size) => {
      const places = members.slice(from, (from += size));
      valid(places.every((place) => BigInt(place) < listed!.size!) && new Set(places).size === size, "members");
      this.masks.push(places.reduce((mask, place) => mask | (1n << BigInt(place)), 0n));
      return places.map((place) => listed!.label(BigInt(place))).join(" and ");
    });
    this.listed = new Categories(labels);
    const held = [...new Set(sizes)].map((size) => [BigInt(sizes.filter((one) => one === size).length), choose(most!, BigInt(size))]);
    const possible = held.reduce((sum, [all, some]) => sum + (all! < some! ? all! : some!), 0n);
    this.most = possible || 1n;
    this.ticks = `${sizes.length} ${this.most}`;
  }
  encode(value: unknown): bigint {
    const held = this.seen.encode(value) as bigint;
    return this.masks.reduce((code, mask, place) => code | (BigInt((held & mask) === mask) << BigInt(place)), 0n);
  }
  override label(code: bigint): string {
    return this.listed.label(code);
  }
}

/** How many items, or itemsets, a person holds. */
class HeldCount extends View {
  constructor(of: Domain) {
    super(of);
    valid((of as Partial<Sets>).listed, "of");
    this.size = (of as Sets).most + 1n;
  }
  encode(value: unknown): bigint {
    return BigInt(bitCount(this.seen.encode(value) as bigint));
  }
}

/** A subset of the items and fillers that is likelier if it contains any element that a person holds. */
class Hitting extends Channel {
  readonly elements: bigint;
  private readonly row: bigint[]; // the cumulative law of the first hit
  private readonly beyond: bigint[]; // reports without any of the first 0, 1, ... elements held

  constructor(
    readonly items: bigint,
    readonly most: number,
    readonly picked: bigint,
    readonly hit: bigint,
  ) {
    ranged(BigInt(most), 1n, items < MOST_HELD ? items : MOST_HELD, "most");
    ranged(picked, 1n, items, "picked");
    const elements = items + BigInt(most);
    const single = picked === 1n;
    super(subsets(items, most), 1 + Number(picked), single ? elements : null, single ? bitLength(elements - 1n) : Number(elements));
    this.elements = elements;
    this.codesAreIndices = false;
    this.ticks = `${items} ${most}`;
    this.beyond = [choose(elements, picked)];
    for (let left = elements; left > items; left--) this.beyond.push((this.beyond.at(-1)! * (left - picked)) / left);
    const [every, ...rest] = this.beyond;
    const hits = every! - rest.at(-1)!;
    this.row = [...rest.map((left) => (hit * (every! - left)) / hits), UNIT];
    valid(this.row.every((end, place) => end - (place ? this.row[place - 1]! : 0n) >= LEAST), "picked");
    const [own, other] = this.rates();
    informative(own, other, "hit");
  }

  /** How often a report contains an element that the person holds, and one that the person does not hold. */
  private rates(): [Fraction, Fraction] {
    const { elements, picked, beyond } = this;
    const hit = units(this.hit).over(Fraction.of(beyond[0]! - beyond.at(-1)!));
    const missed = units(UNIT - this.hit).over(Fraction.of(beyond.at(-1)!));
    const [every, beside] = [choose(elements - 1n, picked - 1n), choose(this.items - 1n, picked - 1n)];
    return [hit.times(Fraction.of(every)), hit.times(Fraction.of(every - beside)).plus(missed.times(Fraction.of(beside)))];
  }

  private held(code: bigint): bigint[] {
    return heldElements(code, this.items, this.most);
  }

  sample(code: bigint, coins: Coins): bigint {
    const held = this.held(code);
    const first = coins.pick(this.row);
    const hits = first < this.most;
    const last = Math.min(first, this.most - 1);
    // Elements held up to the first hit do not follow it; without a hit, no element held does.
    const barred = held.map((element, place) => (place <= last ? element : this.elements));
    const free = (index: bigint): bigint => barred.reduce((found, element) => found + BigInt(found >= element), index);
    const wanted = this.picked - BigInt(hits);
    const drawn = new Set<bigint>();
    const unused = new Set<bigint>();
    (hits ? drawn : unused).add(held[last]!);
    for (let turn = 0n; turn < this.picked; turn++) {
      const needed = turn < wanted;
      const bound = this.elements - 1n - BigInt(last) - wanted + turn;
      const place = free(coins.below(needed ? bound + 1n : 1n));
      const instead = free(bound);
      (needed ? drawn : unused).add(drawn.has(place) ? instead : place);
    }
    let report = 0n;
    for (const place of drawn) report = this.picked === 1n ? place : report | (1n << place);
    return report;
  }

  override contains(report: bigint): boolean {
    return super.contains(report) && (this.picked === 1n || bitCount(report) === Number(this.picked));
  }

  holds(report: bigint, element: bigint): boolean {
    return this.picked === 1n ? report === element : ((report >> element) & 1n) === 1n;
  }

  /** The likelihood of a report by the place of its first hit; the last is that of a report without one. */
  private levels(): Fraction[] {
    spend((this.most * this.beyond.length) >> 2);
    return this.row.map((end, place) => {
      const size = place < this.most ? this.beyond[place]! - this.beyond[place + 1]! : this.beyond.at(-1)!;
      return Fraction.of(end - (place ? this.row[place - 1]! : 0n), UNIT * size);
    });
  }

  ratio(): Fraction {
    const levels = this.levels();
    return levels.reduce(larger).over(smallest(levels));
  }

  likelihood(report: bigint, code: bigint): Fraction {
    const first = this.held(code).findIndex((element) => this.holds(report, element));
    return this.levels().at(first)!; // -1, the last, without a hit
  }

  override codes(): Iterable<bigint> {
    return itemSets(this.items, this.most);
  }

  /** The items that a report names. */
  named(report: bigint): bigint[] {
    return numbers(this.items).filter((item) => this.holds(report, item));
  }
}

/** What reports about sets of items through an id have in common: the inner channel reports what the id makes of a set. */
abstract class SetsById extends Channel {
  constructor(
    readonly items: bigint,
    readonly most: number,
    readonly inner: Channel,
  ) {
    super(subsets(items, most), inner.words, inner.outputs, inner.payloadBits);
    this.codesAreIndices = false;
    this.parts = [inner];
    this.publics = 1;
    this.ticks = `${items} ${most}`;
  }

  protected abstract mapped(code: bigint, words: Words): bigint;
  protected abstract names(report: bigint, item: bigint, words: Words): boolean;

  sample(code: bigint, coins: Coins, words: Words = NO_WORDS): bigint {
    return this.inner.sample(this.mapped(code, words), coins);
  }
  override contains(report: bigint): boolean {
    return this.inner.contains(report);
  }
  ratio(): Fraction {
    return this.inner.ratio();
  }
  likelihood(report: bigint, code: bigint, words: Words = NO_WORDS): Fraction {
    return this.inner.likelihood(report, this.mapped(code, words));
  }
  override codes(): Iterable<bigint> {
    return itemSets(this.items, this.most);
  }
  /** The items that a report names. */
  named(report: bigint, words: Words): bigint[] {
    return numbers(this.items).filter((item) => this.names(report, item, words));
  }
}

/** One of the items that a person holds, or a filler, is drawn; the inner channel reports it. */
class DrawnItem extends Channel {
  constructor(
    readonly items: bigint,
    readonly most: number,
    private readonly padded: number,
    private readonly inner: Channel,
  ) {
    ranged(BigInt(most), 1n, items < MOST_HELD ? items : MOST_HELD, "most");
    ranged(BigInt(padded), 1n, BigInt(most), "padded");
    const response = inner.kind === "public" ? inner.parts[0] : inner;
    valid(response instanceof Subset && response.w === 1n && inner.inputs === items + BigInt(padded), "inner");
    super(subsets(items, most), 1 + inner.words, inner.outputs, inner.payloadBits);
    this.codesAreIndices = false;
    this.parts = [inner];
    this.publics = inner.publics;
    this.tries = inner.tries;
    this.ticks = `${items} ${most}`;
  }
  private elements(code: bigint): bigint[] {
    return heldElements(code, this.items, this.most).slice(0, Math.max(this.padded, bitCount(code)));
  }
  sample(code: bigint, coins: Coins, words: Words = NO_WORDS): bigint {
    const held = this.elements(code);
    return this.inner.sample(held[Number(coins.below(BigInt(held.length)))]!, coins, words);
  }
  override contains(report: bigint): boolean {
    return this.inner.contains(report);
  }
  override accepts(words: Words): boolean {
    return this.inner.accepts(words);
  }
  likelihood(report: bigint, code: bigint, words: Words = NO_WORDS): Fraction {
    const all = this.elements(code).map((element) => this.inner.likelihood(report, element, words));
    return all.reduce((sum, one) => sum.plus(one)).over(Fraction.of(BigInt(all.length)));
  }
  /** The draw is private: a report of randomized response names one element. */
  ratio(): Fraction {
    if (!(this.inner instanceof Subset)) return this.inner.ratio();
    const [own, other] = [this.inner.likelihood(0n, 0n), this.inner.likelihood(0n, 1n)];
    const slots = BigInt(this.padded);
    return own.plus(other.times(Fraction.of(slots - 1n))).over(other.times(Fraction.of(slots)));
  }
  override codes(): Iterable<bigint> {
    return itemSets(this.items, this.most);
  }
  /** The items that a report names: those that make it likelier than chance does. */
  named(report: bigint, words: Words): bigint[] {
    const chance = Fraction.of(1n, this.inner.outputs!);
    return numbers(this.items).filter((item) => this.inner.likelihood(report, item, words).compare(chance) > 0);
  }
}

/** Items are put into few cells by a public hash, and the set of cells is reported. */
class Spread extends SetsById {
  constructor(
    items: bigint,
    inner: Channel,
    private readonly bits: bigint,
  ) {
    valid(inner instanceof Hitting && BigInt(inner.most) <= items, "channel");
    const cells = inner as Hitting;
    super(items, cells.most, inner);
    const elements = items + BigInt(cells.most);
    const short = bits >= 2n && bits <= 4n && elements <= 8n && (1n << (2n * bits)) % cells.items ** elements === 0n;
    valid(bits === 64n || short, "bits");
  }

  private cell(element: bigint, words: Words): bigint {
    const [a, b] = words;
    const cells = (this.inner as Hitting).items;
    if (this.bits === 64n) return mixedValue(a, b, element, cells);
    const size = 1n << this.bits;
    return (((a % size) * size + (b % size)) / cells ** element) % cells;
  }
  protected mapped(code: bigint, words: Words): bigint {
    return heldElements(code, this.items, this.most).reduce((cells, element) => cells | (1n << this.cell(element, words)), 0n);
  }
  protected names(report: bigint, item: bigint, words: Words): boolean {
    return (this.inner as Hitting).holds(report, this.cell(item, words));
  }
}

/** A position of a circle, likelier in the arc of an item that is held; the id says where arcs begin. */
class Wheel extends Channel {
  constructor(
    readonly items: bigint,
    readonly most: number,
    private readonly positions: bigint,
    private readonly arc: bigint,
    private readonly weight: bigint,
    private readonly bits: bigint,
  ) {
    ranged(BigInt(most), 1n, items < MOST_HELD ? items : MOST_HELD, "most");
    ranged(arc, 1n, (positions - 1n) / BigInt(most), "arc");
    const elements = items + BigInt(most);
    const short = bits >= 2n && bits <= 4n && elements <= 8n && (1n << (2n * bits)) % positions ** elements === 0n;
    valid(bits === 64n || short, "bits");
    valid(weight * arc * BigInt(most) < UNIT, "weight");
    super(subsets(items, most), 2, positions, bitLength(positions - 1n));
    this.codesAreIndices = false;
    this.publics = 1;
    this.ticks = `${items} ${most}`;
    informative(units(weight).times(Fraction.of(arc)), Fraction.of(arc, positions), "weight");
  }
  private start(element: bigint, [a, b]: Words): bigint {
    if (this.bits === 64n) return mixedValue(a!, b!, element, this.positions);
    const size = 1n << this.bits;
    return (((a! % size) * size + (b! % size)) / this.positions ** element) % this.positions;
  }
  /** For each arc of a person its begin, its length before the next one, and where that begins. */
  private arcs(code: bigint, words: Words): bigint[][] {
    const starts = heldElements(code, this.items, this.most).map((element) => this.start(element, words));
    starts.sort((one, other) => (one < other ? -1 : 1));
    return starts.map((start, place) => {
      const later = starts[place + 1] ?? starts[0]! + this.positions;
      return [start, later - start < this.arc ? later - start : this.arc, later];
    });
  }
  sample(code: bigint, coins: Coins, words: Words = NO_WORDS): bigint {
    const arcs = this.arcs(code, words);
    const inside = arcs.reduce((sum, [, own]) => sum + own!, 0n);
    const hit = coins.flip(this.weight * inside);
    let index = coins.below(hit ? inside : this.positions - inside);
    let position = 0n;
    for (const [start, own, later] of arcs) {
      const [begin, count] = hit ? [start!, own!] : [start! + own!, later! - start! - own!];
      position = index >= 0n && index < count ? begin + index : position;
      index -= count;
    }
    return position % this.positions;
  }
  private within(report: bigint, start: bigint): boolean {
    return mod(report - start, this.positions) < this.arc;
  }
  likelihood(report: bigint, code: bigint, words: Words = NO_WORDS): Fraction {
    const arcs = this.arcs(code, words);
    const inside = arcs.reduce((sum, [, own]) => sum + own!, 0n);
    if (arcs.some(([start]) => this.within(report, start!))) return units(this.weight);
    return ONE.minus(units(this.weight * inside)).over(Fraction.of(this.positions - inside));
  }
  ratio(): Fraction {
    const full = this.arc * BigInt(this.most);
    return units(this.weight).times(Fraction.of(this.positions - full)).over(ONE.minus(units(this.weight * full)));
  }
  override codes(): Iterable<bigint> {
    return itemSets(this.items, this.most);
  }
  /** The items whose arcs hold the position. */
  named(report: bigint, words: Words): bigint[] {
    return numbers(this.items).filter((item) => this.within(report, this.start(item, words)));
  }
}

/** Randomized response of the pattern of a few neighbouring items, which the id chooses. */
class Options extends SetsById {
  private readonly window: Choice;
  private readonly asked: bigint;

  constructor(items: bigint, most: bigint, inner: Channel, bits: bigint) {
    const { inputs } = inner;
    valid(inner instanceof Subset && inner.w === 1n && !(inputs & (inputs - 1n)), "channel");
    super(items, Number(ranged(most, 1n, items, "most")), inner);
    this.asked = BigInt(bitLength(inputs) - 1);
    valid(this.asked <= 8n && this.asked <= items, "channel");
    this.window = new Choice(items, wordBits(bits, 2n, 4n, 6n, 8n));
    this.tries = this.window.tries;
  }

  override accepts(words: Words): boolean {
    return this.window.accepts(words);
  }
  protected mapped(code: bigint, words: Words): bigint {
    return ((code | (code << this.items)) >> this.window.of(words)) % (1n << this.asked);
  }
  protected names(report: bigint, item: bigint, words: Words): boolean {
    const place = mod(item - this.window.of(words), this.items);
    return place < this.asked && ((report >> place) & 1n) === 1n;
  }
  /** The items of which a report says that they are not held. */
  denied(report: bigint, words: Words): bigint[] {
    const isAsked = (item: bigint): boolean => mod(item - this.window.of(words), this.items) < this.asked;
    return numbers(this.items).filter((item) => isAsked(item) && !this.names(report, item, words));
  }
}

/** A value below g that two words give to a number, by the mixing steps of SplitMix64. */
export function mixedValue(a: bigint, b: bigint, value: bigint, g: bigint): bigint {
  let mixed = BigInt.asUintN(64, (value + 1n) * 0x9e3779b97f4a7c15n + a);
  mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n);
  mixed = BigInt.asUintN(64, (mixed ^ b ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
  return (((mixed ^ (mixed >> 31n)) >> 32n) * g) >> 32n;
}

function numbers(count: bigint): bigint[] {
  return Array.from({ length: Number(count) }, (_, item) => BigInt(item));
}

/** The elements that a person holds, in order: the items of a code, then fillers. */
function heldElements(code: bigint, items: bigint, most: number): bigint[] {
  const fillers = BigInt(most - bitCount(code));
  const full = code | (((1n << fillers) - 1n) << items);
  const found: bigint[] = [];
  for (let element = 0n; element < items + BigInt(most); element++) if ((full >> element) & 1n) found.push(element);
  return found;
}

function* itemSets(items: bigint, most: number): Iterable<bigint> {
  for (let code = 0n; code < 1n << items; code++) if (bitCount(code) <= most) yield code;
}

/** How many sets have at most so many items. */
function subsets(items: bigint, most: number): bigint {
  let [all, size] = [1n, 1n];
  for (let held = 0n; held < most; held++) {
    size = (size * (items - held)) / (held + 1n);
    all += size;
  }
  return all;
}

const number = integer();
const named = listOf((value) => (typeof value === "string" ? value : number(value)));
define(DOMAINS, "sets", Sets, { items: named, most: number });
define(DOMAINS, "ranking", Ranking, { items: named });
define(DOMAINS, "itemsets", Itemsets, { of: domainFrom, members: listOf(count(0n, MOST_ITEMS)), sizes: listOf(count(1n, MOST_ITEMS)) });
define(DOMAINS, "held-count", HeldCount, { of: domainFrom });
define(NODES, "hitting", Hitting, { items: integer(2n, MOST_ITEMS), most: count(1n, MOST_HELD), picked: integer(), hit: unit });
define(NODES, "drawn-item", DrawnItem, { items: integer(2n, MOST_ITEMS), most: count(1n, MOST_HELD), padded: count(1n, MOST_HELD), inner: channelFrom });
define(NODES, "spread", Spread, { items: integer(2n, MOST_ITEMS), inner: channelFrom, bits: integer() });
define(NODES, "wheel", Wheel, { items: integer(2n, MOST_ITEMS), most: count(1n, MOST_HELD), positions: integer(2n, 1n << 20n), arc: integer(), weight: unit, bits: integer() });
define(NODES, "options", Options, { items: integer(2n, MOST_ITEMS), most: integer(), inner: channelFrom, bits: integer() });
