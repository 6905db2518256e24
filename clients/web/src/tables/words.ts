/** Words of an alphabet, found without a list, and the map that reports tell of them. */
import { field, MAPS, NumberedMap } from "../channel/maps";
import { bitLength, ceilDiv } from "../core/bytes";
import { dot } from "../core/field";
import { define, integer, text, valid } from "../core/read";
import { Domain, DOMAINS, MOST_TEXT, outside } from "../domain/domain";
import { mixedValue } from "./item_sets";

const MOST_LETTERS = 1024;
const MOST_WORDS = 1n << 52n;
const ROUNDS = 4n;

/** Any word of at most some letters; its code is its number, by length and then by letters. */
class Words extends Domain {
  private readonly letters: string[];
  private readonly base: bigint;
  constructor(
    letters: string,
    private readonly longest: bigint,
    private readonly longer: string,
  ) {
    super();
    this.letters = [...letters];
    this.base = BigInt(this.letters.length);
    const different = new Set(this.letters).size === this.letters.length && letters === letters.normalize("NFC");
    valid(different && this.base >= 2n && this.letters.length <= MOST_LETTERS && !/[\s\ud800-\udfff]/u.test(letters), "letters");
    valid(["refuse", "cut"].includes(longer), "longer");
    this.size = (this.base ** (longest + 1n) - 1n) / (this.base - 1n);
    valid(this.size <= MOST_WORDS, "longest");
  }
  encode(value: unknown): bigint {
    if (typeof value === "string" && value.length <= 2 * MOST_TEXT && [...value].length <= MOST_TEXT && !/[\ud800-\udfff]/u.test(value)) {
      const word = [...value.normalize("NFC")];
      const places = word.slice(0, Number(this.longest)).map((letter) => this.place(letter) || this.place(letter.toLowerCase()));
      if (places.every((place) => place) && (this.longer === "cut" || word.length <= this.longest))
        return places.reduce((code, place) => code * this.base + BigInt(place), 0n);
    }
    const length = this.longer === "cut" ? "" : ` of at most ${this.longest} letters`;
    return outside(`a word${length}, each one of ${this.letters.join("")}`);
  }
  /** The place of a letter in the alphabet, from 1 on; 0 if it has none. */
  private place(letter: string): number {
    return this.letters.indexOf(letter) + 1;
  }
  override label(code: bigint): string {
    let found = "";
    for (let left = code; left > 0n; left = (left - 1n) / this.base) found = this.letters[Number((left - 1n) % this.base)]! + found;
    return found;
  }
  override typed(written: string): unknown {
    return written.trim();
  }
}

/** A fragment of a mixed code with a check of all of it, or a hash of all of it, through a public linear map. */
class Fragments extends NumberedMap {
  constructor(k: bigint, g: bigint, digits: bigint, fragments: bigint, bits: bigint, known: bigint) {
    valid((g & (g - 1n)) === 0n, "g");
    valid(fragments % 2n === 0n, "fragments");
    const every = field(g, digits, known);
    const width = ceilDiv(BigInt(bitLength(k - 1n)), fragments);
    const all = BigInt(bitLength(every) - 1);
    valid(all <= 24n && all > width, "digits");
    const vectors = (every - 1n) / (g - 1n);
    const half = (width * fragments) / 2n;
    super(k, g, (fragments + 1n) * vectors, bits, (seed, code) => {
      let [low, high] = [code % (1n << half), code >> half];
      for (let turn = 0n; turn < ROUNDS; turn++) [low, high] = [high, low ^ mixedValue(turn, 0n, high, 1n << half)];
      const hashed = (turn: bigint, size: bigint) => mixedValue(turn, 0n, low, size) ^ mixedValue(turn + 1n, 0n, high, size);
      const check = hashed(ROUNDS, 1n << (all - width)) << width;
      const cells = [low, high].flatMap((part) =>
        Array.from({ length: Number(fragments / 2n) }, (_, place) => check | ((part >> (width * BigInt(place))) & ((1n << width) - 1n))),
      );
      cells.push(hashed(ROUNDS + 2n, every));
      let [number, top] = [seed % vectors, 1n];
      while (number >= top) [number, top] = [number - top, top * g];
      return dot(top + number, cells[Number(seed / vectors)]!, g, digits);
    });
  }
}

define(DOMAINS, "words", Words, { letters: text, longest: integer(1n, 52n), longer: text });
define(MAPS, "fragments", Fragments, {
  k: integer(2n, MOST_WORDS),
  g: integer(2n, 256n),
  digits: integer(1n, 24n),
  fragments: integer(2n, 8n),
  bits: integer(),
  polynomial: integer(),
});
