/** Coins from a seed, for simulations and the shared vectors. They are given the class of the main bundle. */
import type { Coins as AnyCoins } from "../core/coins";
import type * as kit from "../kit";
import { shake256 } from "./shake256";

export function seededCoins(given: typeof kit, seed: number | bigint, firstReport = 0, bits = 53): AnyCoins {
  const { Coins, fromBytes, utf8 } = given;

  /** Words from SHAKE-256 of a seed and the report's number: for simulations and tests, never for privacy. */
  class SeededCoins extends Coins {
    private report: number;
    private extras = 0;
    private overflow: Uint8Array = new Uint8Array(0);

    constructor(
      private readonly seed: number | bigint,
      firstReport: number,
      bits: number,
    ) {
      super(bits);
      this.report = firstReport - 1;
    }

    private stream(purpose: string, length: number): Uint8Array {
      return shake256(utf8(`sottovoce coins 1|${purpose}|${this.seed}|${this.report}`), length);
    }

    protected load(words: number): Uint8Array {
      this.report++;
      this.extras = 0;
      this.overflow = new Uint8Array(0);
      return this.stream("span", 8 * words);
    }

    extra(): bigint {
      const end = 8 * ++this.extras;
      if (end > this.overflow.length) this.overflow = this.stream("overflow", 2 * end);
      return fromBytes(this.overflow.subarray(end - 8, end));
    }
  }

  return new SeededCoins(seed, firstReport, bits);
}
