/** `chain` and `cohorts`: channels of which a device keeps a memo. */
import { at, Bits, bitsRatio } from "../channel/bits";
import { channelFrom, checkMemos, NODES, type Channel, type Code, type Words } from "../channel/channel";
import { Composed, Public } from "../channel/compose";
import type { PublicMap } from "../channel/maps";
import { need } from "../core/errors";
import { Fraction, ONE, units } from "../core/fraction";
import { take, type Spec } from "../core/json";

/** A first stage that a device draws once for each value and keeps, and a fresh second one. */
class Chain extends Composed {
  readonly kind = "chain";

  constructor(first: Channel, second: Channel) {
    super(first, second);
    checkMemos(this);
  }

  override get stages(): readonly [Channel, Channel] {
    return [this.first, this.second];
  }

  /** The ratio of one report. All reports of one value together lose what the first stage loses. */
  ratio(): Fraction {
    const { first, second } = this;
    const bits =
      first instanceof Bits &&
      second instanceof Bits &&
      !["mask", "signed"].includes(first.encoding) &&
      !(first.encoding === "blocks" && second.vary) &&
      second.encoding === "mask" &&
      !second.ones;
    if (!bits) return this.ratioByEntry();
    const own: Fraction[] = [];
    const other: Fraction[] = [];
    for (let place = 0; place < (first.vary || second.vary ? first.k : Math.min(first.k, 2)); place++) {
      const [up, down] = [units(at(second.p, place)), units(at(second.q, place))];
      const after = (rate: Fraction): Fraction => rate.times(up).plus(ONE.minus(rate).times(down));
      own.push(after(units(at(first.p, place))));
      other.push(after(units(at(first.q, place))));
    }
    return bitsRatio(own, other, first.encoding, first.ones);
  }

  static read(fields: Spec): Chain {
    const [first, second] = take(fields, "chain", "first", "second");
    return new Chain(channelFrom(first), channelFrom(second));
  }
}

/** A public map that a device draws once and keeps, above the memo of a chain. */
class Cohorts extends Public {
  override readonly kind = "cohorts";

  constructor(map: PublicMap, inner: Channel) {
    need(map.seeds !== undefined && inner instanceof Chain, "Cohorts need numbered maps, and a chain inside.");
    need(map.seeds! <= 1n << 10n, "There are at most 1024 cohorts.");
    super(map, inner);
  }

  override get stages(): readonly [Channel, Channel] | null {
    return this.inner.stages;
  }
  override get cohorts(): bigint {
    return this.map.seeds!;
  }
  override cohort(words: Words): bigint {
    return this.map.seed!(this.read(words));
  }
  override mappedIn(cohort: bigint, code: Code): Code {
    return this.map.value!(cohort, code);
  }
}

Object.assign(NODES, {
  chain: Chain.read,
  cohorts: (fields: Spec) => new Cohorts(...Public.parts(fields, "cohorts")),
});
