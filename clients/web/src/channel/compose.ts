/** Nodes that are made of other nodes. */
import { low, running, sum, UNIT } from "../core/bytes";
import type { Coins } from "../core/coins";
import { infinite, need } from "../core/errors";
import { derivedWords } from "../core/field";
import { Fraction, larger, largest, ONE, total, units, ZERO } from "../core/fraction";
import { define, kindFrom, valid } from "../core/read";
import { Bits } from "./bits";
import { Channel, channelFrom, NO_WORDS, NODES, plain, TOO_LARGE, weights, type Code, type Extremes, type Words } from "./channel";
import { Subset, Table } from "./finite";
import { MAPS, type PublicMap } from "./maps";
import { number, Rounding } from "./numeric";

const MOST_CELLS = 1n << 18n;

/** A channel of a vector may know its own ratio before a second stage. */
interface BeforeSecond {
  ratioBefore?(second: Channel): Fraction | null;
}

// --- one channel after another -------------------------------------------------------------------------
/** How many numbers have the channel's width, reports or not. */
function reports(channel: Channel): bigint {
  if (channel.outputs !== null) return channel.outputs;
  need(channel.payloadBits <= 1 << 16, "This channel is too large for a browser.");
  return 1n << BigInt(channel.payloadBits);
}

export abstract class Composed extends Channel {
  constructor(
    readonly first: Channel,
    readonly second: Channel,
  ) {
    valid(reports(first) === second.inputs && second.codesAreIndices && !first.publics, "second");
    super(first.inputs, first.words + second.words, second.outputs, second.payloadBits);
    this.parts = [first, second];
    this.codesAreIndices = first.codesAreIndices;
    this.rounding = first.rounding;
    this.dimensions = first.dimensions;
    this.sparse = first.sparse;
    this.publics = second.publics;
  }

  override codes(): Iterable<Code> {
    return this.first.codes();
  }
  override accepts(words: Words): boolean {
    return this.second.accepts(words);
  }
  override contains(report: bigint): boolean {
    return this.second.contains(report);
  }

  sample(code: Code, coins: Coins, words: Words = NO_WORDS): bigint {
    return this.second.sample(this.first.sample(code, coins), coins, words);
  }

  likelihood(report: bigint, code: Code, words: Words = NO_WORDS): Fraction {
    let [from, to] = [0n, this.second.inputs];
    if (this.first instanceof Rounding) {
      from = number(code).minus(this.first.low).over(this.first.step).floor();
      to = from + 2n < to ? from + 2n : to;
    } else need(to <= MOST_CELLS, TOO_LARGE);
    const terms: Fraction[] = [];
    for (let between = from; between < to; between++)
      if (this.first.contains(between))
        terms.push(this.first.likelihood(between, code).times(this.second.likelihood(report, between, words)));
    return total(terms);
  }

  protected ratioByEntry(): Fraction {
    need(!this.publics && products(this) <= MOST_CELLS, TOO_LARGE);
    const law = matrix(this);
    let worst = ONE;
    law[0]!.forEach((_, y) => {
      const column = law.map((row) => row[y]!);
      const most = largest(column, ZERO);
      if (!most.n) return;
      for (const one of column) worst = larger(worst, one.n ? most.over(one) : infinite());
    });
    return worst;
  }
}

/** The law, one row per code. Each composition is multiplied once, at any depth of nesting. */
function matrix(channel: Channel): Fraction[][] {
  if (channel instanceof Composed) {
    const [first, second] = [matrix(channel.first), matrix(channel.second)];
    return first.map((row) => second[0]!.map((_, y) => total(row.map((one, between) => one.times(second[between]![y]!)))));
  }
  const rows: Fraction[][] = [];
  const outputs = reports(channel);
  for (const code of channel.codes()) {
    const row: Fraction[] = [];
    for (let y = 0n; y < outputs; y++) row.push(channel.contains(y) ? channel.likelihood(y, code) : ZERO);
    rows.push(row);
  }
  return rows;
}

function products(channel: Channel): bigint {
  const cells = channel.inputs * reports(channel);
  if (!(channel instanceof Composed)) return cells;
  return cells * channel.second.inputs + products(channel.first) + products(channel.second);
}

export class Then extends Composed {
  constructor(first: Channel, second: Channel) {
    super(first, second);
    const { stages } = second;
    if (stages && first instanceof Rounding) this.stages = [new Then(first, stages[0]), stages[1]];
  }

  ratio(): Fraction {
    const { first, second } = this;
    if (first instanceof Rounding || (first instanceof Table && first.reachesEveryOutput())) return second.ratio();
    return (first as BeforeSecond).ratioBefore?.(second) ?? this.ratioByEntry();
  }

  /** After a rounding those of the second: between grid points laws are mixed. */
  override extremes(): Extremes {
    return this.first instanceof Rounding ? this.second.extremes() : super.extremes();
  }
}

// --- choices -------------------------------------------------------------------------------------------
/** A group is randomized; if the result supports the true group the randomized value is sent, else a neutral draw. */
class Keyed extends Channel {
  private readonly cumulative: bigint[];
  private readonly wide: bigint;

  constructor(
    readonly key: Subset | Bits,
    readonly inner: Channel,
    readonly neutral: bigint[],
  ) {
    valid(key instanceof Subset || (key instanceof Bits && key.encoding === "onehot" && !key.vary), "key");
    const wide = BigInt(neutral.length);
    valid(plain(inner) && wide === inner.outputs && (inner.rounding || inner.codesAreIndices), "inner");
    valid(sum(neutral) === UNIT && neutral.every((one, y) => one > 0n === inner.contains(BigInt(y))), "neutral");
    const numbered = key.outputs !== null;
    super(
      key.inputs * inner.inputs,
      key.words + inner.words + 1,
      ...((numbered ? [key.inputs * wide] : [null, key.payloadBits + inner.payloadBits]) as [bigint | null]),
    );
    this.parts = [key, inner];
    this.codesAreIndices = false;
    this.wide = wide;
    this.cumulative = running(neutral);
  }

  override *codes(): Iterable<Code> {
    for (const group of this.key.codes()) for (const value of this.inner.codes()) yield [group, value];
  }

  sample(code: Code, coins: Coins): bigint {
    const [group, value] = code;
    const begin = coins.position;
    const key = this.key.sample(group, coins);
    const supported = this.key.supports(key, group);
    coins.seek(begin + this.key.words);
    const within = coins.when(supported, (source) => this.inner.sample(value, source));
    coins.seek(begin + this.words - 1);
    const neutral = coins.when(!supported, (source) => BigInt(source.pick(this.cumulative)));
    const drawn = supported ? within : neutral;
    return this.outputs === null ? (key << BigInt(this.inner.payloadBits)) | drawn : key * this.wide + drawn;
  }

  split(report: bigint): [bigint, bigint] {
    if (this.outputs !== null) return [report / this.wide, report % this.wide];
    return [report >> BigInt(this.inner.payloadBits), report & low(this.inner.payloadBits)];
  }

  override contains(report: bigint): boolean {
    if (report < 0n) return false;
    const [key, within] = this.split(report);
    return this.key.contains(key) && this.inner.contains(within);
  }

  ratio(): Fraction {
    const key = this.key.ratio();
    const [most, least] = this.inner.extremes();
    let worst = this.inner.ratio();
    const seen = new Set<string>();
    this.neutral.forEach((weight, y) => {
      const name = `${most[y]!.text()} ${least[y]!.text()} ${weight}`;
      if (!weight || seen.has(name)) return; // most outputs are alike
      seen.add(name);
      const one = units(weight);
      worst = largest([key.times(most[y]!).over(one), one.over(least[y]!).over(key)], worst);
    });
    return worst;
  }

  likelihood(report: bigint, code: Code): Fraction {
    const [key, within] = this.split(report);
    const law = this.key.supports(key, code[0])
      ? this.inner.likelihood(within, code[1])
      : units(this.neutral[Number(within)]!);
    return this.key.likelihood(key, code[0]).times(law);
  }
}

// --- public maps ---------------------------------------------------------------------------------------
/** A map chosen by public words, which are the report's id, then an inner channel on the mapped code. */
export class Public extends Channel {
  constructor(
    readonly map: PublicMap,
    readonly inner: Channel,
  ) {
    valid(map.outputs === inner.inputs && inner.codesAreIndices, "map");
    super(map.inputs, inner.words, inner.outputs, inner.payloadBits);
    this.parts = [inner];
    this.publics = inner.publics + 1;
    this.tries = map.tries;
  }

  protected read(words: Words): Words {
    return derivedWords(words, this.inner.publics);
  }
  private mapped(code: bigint, words: Words): bigint {
    return this.map.apply(this.read(words), code);
  }

  sample(code: bigint, coins: Coins, words: Words = NO_WORDS): bigint {
    return this.inner.sample(this.mapped(code, words), coins, this.inner.publics ? words : NO_WORDS);
  }
  override contains(report: bigint): boolean {
    return this.inner.contains(report);
  }
  override accepts(words: Words): boolean {
    return this.map.accepts(this.read(words)) && this.inner.accepts(words);
  }
  ratio(): Fraction {
    return this.inner.ratio();
  }
  likelihood(report: bigint, code: bigint, words: Words = NO_WORDS): Fraction {
    return this.inner.likelihood(report, this.mapped(code, words), words);
  }
}

export const STAGES = { first: channelFrom, second: channelFrom };
export const MAPPED = { map: (spec: unknown): PublicMap => kindFrom(MAPS, spec, "kind", "public map"), inner: channelFrom };
define(NODES, "then", Then, STAGES);
define(NODES, "keyed", Keyed, { key: channelFrom, inner: channelFrom, neutral: weights });
define(NODES, "public", Public, MAPPED);
