/** Public blocks of yes/no attributes. */
import { MAPS, NumberedMap } from "../channel/maps";
import { least } from "../core/bytes";
import { define, integer, ranged, text, valid } from "../core/read";

const FORMS = ["cells", "even", "parity"];
const MOST_DIGITS = 6n;
const MOST_PUBLIC_BLOCKS = 1n << 18n;

/** How many sets of a size there are. */
function choose(of: bigint, size: bigint): bigint {
  let count = 1n;
  for (let taken = 0n; taken < size; taken++) count = (count * (of - taken)) / (taken + 1n);
  return size > of ? 0n : count;
}

/** Public blocks of yes/no attributes, of which a report tells all cells or parities. */
class Parities extends NumberedMap {
  constructor(attributes: bigint, size: bigint, form: string, bits: bigint) {
    valid(FORMS.includes(form), "form");
    const most = form === "parity" ? attributes : MOST_DIGITS + (form === "even" ? 1n : 0n);
    ranged(size, form === "even" ? 2n : 1n, least(attributes, most), "size");
    const digits = form === "parity" ? 1n : form === "even" ? size - 1n : size;
    const seeds = choose(attributes, size);
    valid(seeds <= MOST_PUBLIC_BLOCKS, "size");
    super(1n << attributes, 1n << digits, seeds, bits, (seed, code) => {
      let value = 0n;
      let first = 0n;
      let left = size;
      let before = seed;
      for (let place = 0n; place < attributes; place++) {
        const later = left > 0n ? choose(attributes - place - 1n, left - 1n) : 0n;
        const taken = left > 0n && before < later;
        const bit = (code >> (attributes - 1n - place)) & 1n;
        if (taken) {
          if (form === "parity") value ^= bit;
          else if (form === "cells") value = (value << 1n) | bit;
          else if (left === size) first = bit;
          else value = (value << 1n) | (bit ^ first);
          left -= 1n;
        } else before -= later;
      }
      return value;
    });
  }
}

const any = integer();
define(MAPS, "parities", Parities, { attributes: integer(1n, 32n), size: any, form: text, bits: any });
