/** Coins from a seed, for simulations and the shared vectors. */
import { fromBytes, utf8 } from "../core/bytes";
import { Coins } from "../core/coins";
import { shake256 } from "./shake256";

/** Words from SHAKE-256 of a seed and the report's number: for simulations and tests, never for privacy. */
export class SeededCoins extends Coins {
  private report = -1;
  private extras = 0;
  private overflow: Uint8Array = new Uint8Array(0);

  constructor(
    private readonly seed: number | bigint,
    bits?: number,
  ) {
    super(bits);
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
