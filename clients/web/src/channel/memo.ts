/** `chain` and `cohorts`: channels of which a device keeps a memo. */
import { Fraction, ONE, units } from "../core/fraction";
import { define, valid } from "../core/read";
import { at, Bits, bitsRatio } from "./bits";
import { Subset } from "./finite";
import { NODES, type Channel, type Code, type Words } from "./channel";
import { Composed, MAPPED, Public, STAGES } from "./compose";
import { NumberedMap } from "./maps";

/** A first stage that a device draws once for each value and keeps, and a fresh second one. */
class Chain extends Composed {
  constructor(first: Channel, second: Channel) {
    super(first, second);
    this.stages = [first, second];
  }

  /** Both stages, if every bit of a report depends on one bit of the memo. */
  private bits(): [Bits, Bits] | null {
    const { first, second } = this;
    const single =
      first instanceof Bits &&
      second instanceof Bits &&
      !["mask", "signed"].includes(first.encoding) &&
      !(first.encoding === "blocks" && second.vary) &&
      second.encoding === "mask" &&
      !second.ones;
    return single ? [first, second] : null;
  }

  /** The ratio of one report. All reports of one value together lose what the first stage loses. */
  ratio(): Fraction {
    const { first: kept, second: sent } = this;
    if (kept instanceof Subset && sent instanceof Subset && kept.w * sent.w === 1n) {
      // Both together are randomized response: how often a code is sent, and any other.
      const own = kept.own.times(sent.own).plus(ONE.minus(kept.own).times(sent.other));
      return own.over(ONE.minus(own)).times(Fraction.of(kept.k - 1n));
    }
    const stages = this.bits();
    if (!stages) return this.ratioByEntry();
    const [first, second] = stages;
    const places = Array.from({ length: first.vary || second.vary ? first.k : Math.min(first.k, 2) }, (_, place) => place);
    const after = (rate: Bits["p"]): Fraction[] => places.map((place) => seen(second, place, at(rate, place)));
    return bitsRatio(after(first.p), after(first.q), first.encoding, first.ones);
  }

  override likelihood(report: bigint, code: Code, words?: Words): Fraction {
    const stages = this.bits();
    if (!stages) return super.likelihood(report, code, words);
    const [first, second] = stages;
    let chance = ONE;
    for (let place = 0; place < first.k; place++) {
      const one = seen(second, place, first.rate(place, code as bigint));
      chance = chance.times((report >> BigInt(place)) & 1n ? one : ONE.minus(one));
    }
    return chance;
  }
}

/** The rate of a bit of a report, from that of the bit of the memo. */
function seen(second: Bits, place: number, rate: bigint): Fraction {
  const one = units(rate);
  return one.times(units(at(second.p, place))).plus(ONE.minus(one).times(units(at(second.q, place))));
}

/** A public map that a device draws once and keeps, above the memo of a chain. */
class Cohorts extends Public {
  private readonly numbered: NumberedMap;

  constructor(map: NumberedMap, inner: Channel) {
    valid(map instanceof NumberedMap && map.seeds <= 1n << 10n, "map");
    valid(inner instanceof Chain, "inner");
    super(map, inner);
    this.numbered = map;
    this.stages = inner.stages;
    this.cohorts = map.seeds;
  }

  override cohort(words: Words): bigint {
    return this.numbered.seed(this.read(words));
  }
  override mappedIn(cohort: bigint, code: Code): Code {
    return this.numbered.value(cohort, code);
  }
}

define(NODES, "chain", Chain, STAGES);
define(NODES, "cohorts", Cohorts, MAPPED);
