/**
 * What a report says, in the participant's words: the answers under which it is most likely, or the items that it names.
 * The empty text stands for "none of these"; of a ranking it names pairs, the better item first. It follows from the report
 * alone, so it tells nobody more than the report does. The package computes the same (`scripts/meaning.py`).
 */
import { NO_WORDS, type Words } from "../channel/channel";
import { fromBytes } from "../core/bytes";
import { decimalText } from "../core/decimal";
import { idWords } from "../core/field";
import { Fraction, ZERO } from "../core/fraction";
import { Categories, Circle, Pair, Range, rootOf, type Domain } from "../domain/domain";
import type { Manifest } from "../manifest";
export * from "../index"; // so that all of it is one file, which both need

/** An answer, or an unbroken range of numbers: then `from` and `to` differ. The group is empty where there is none. */
export interface Said {
  group: string;
  from: string;
  to: string;
  /** The answers to several attributes. */
  cell?: string[];
}

/** What a report says; it has no answers where they are too many to try. */
export interface Meaning {
  answers: Said[];
  /** How many answers were tried. */
  tried: number;
  /** Whether the report is as likely under all of them. */
  any: boolean;
}

const MOST_TRIED = 1000;
const MOST_POINTS = 150; // of a number without a step
const POINTS_BY_CELL = 3; // where a mechanism tells more cells of a number apart than these: each cell has a point
const FINE = Fraction.of(1n, 1_000_000n);

interface Tried {
  value: unknown;
  group: string;
  text: string;
  /** Whether it is the next number after the one before it. */
  follows: boolean;
  /** Of a table: then the value is a code already. */
  cell?: string[];
}

/** The cells of a table of some attributes, of which there may be too many to try. */
function cellsOf(attributes: Domain[], size: number): Tried[] {
  if (size > 4 * MOST_TRIED) return [];
  const labels = (one: Domain): string[] => Array.from({ length: Number(one.size) }, (_, code) => one.label(BigInt(code)));
  const cells = attributes.reduce<string[][]>((found, one) => found.flatMap((cell) => labels(one).map((label) => [...cell, label])), [[]]);
  return cells.map((cell, code) => ({ value: BigInt(code), group: "", text: cell.join(", "), follows: false, cell }));
}

/** Numbers of a range: all where they have a step and are few, else in steps of 1, 2, 5, 10, ... finer ones. */
function points({ bottom, top, step }: Range, most: number, wanted: number): Fraction[] {
  const finest = Math.max(Math.min(most, MOST_POINTS), Math.min(wanted, 4 * MOST_TRIED - 100));
  const limit = Fraction.of(BigInt(step ? most : finest));
  let by = step ?? FINE;
  for (let digit = 0; top.minus(bottom).over(by).compare(limit) > 0; digit++) by = by.times(Fraction.of(digit % 3 === 1 ? 5n : 2n, digit % 3 === 1 ? 2n : 1n));
  const found = [];
  for (let one = bottom; one.compare(top) < 0; one = one.plus(by)) found.push(one);
  return [...found, top];
}

function answersOf(domain: Domain, choices: string[] | null, group = "", most = MOST_TRIED, wanted = 0): Tried[] {
  if (choices) return choices.map((text) => ({ value: domain.typed(text), group, text, follows: false }));
  if (!(domain instanceof Range)) return [];
  const numbers = points(domain, most, wanted);
  if (domain instanceof Circle) numbers.pop(); // the same point as the first
  return numbers.map((value, place) => ({ value, group, text: decimalText(value), follows: place > 0 }));
}

function tried(manifest: Manifest, arm: number): Tried[] {
  const asked = manifest.asked(arm);
  const root = rootOf(asked.domain);
  const cells = POINTS_BY_CELL * Number(manifest.arms[arm]!.mechanism.domain.size ?? 0);
  const reasons = asked.missing.map((text) => ({ value: text, group: "", text, follows: false }));
  if (!(root instanceof Pair)) return [...answersOf(root, asked.choices, "", MOST_TRIED, cells), ...reasons];
  const groups = answersOf(root.group, root.group instanceof Categories ? root.group.values.map(String) : null);
  const most = Math.floor(MOST_TRIED / groups.length);
  const pairs = groups.flatMap(({ value: group, text }) =>
    answersOf(rootOf(root.value), root.value instanceof Categories ? root.value.values.map(String) : null, text, most).map((one) => ({ ...one, value: [group, one.value] })),
  );
  return [...pairs, ...reasons];
}

type Names = (report: bigint, words: Words) => bigint[];

/** Pairs of a ranking, the better item first, in the order of the list. */
function pairs(named: bigint[], denied: bigint[], items: (code: bigint) => string[]): Said[] {
  const ordered = [...named.map((code) => ({ code, cell: items(code) })), ...denied.map((code) => ({ code, cell: items(code).reverse() }))];
  return ordered.sort((one, other) => Number(one.code - other.code)).map(({ cell }) => ({ group: "", from: "", to: "", cell }));
}

export function meaning(manifest: Manifest, arm: number, payload: Uint8Array, id: Uint8Array): Meaning {
  const { channel, domain } = manifest.arms[arm]!.mechanism;
  const keys = channel as { keysOf?: (report: bigint, words: Words) => [bigint, boolean | null][] };
  const held = keys.keysOf?.(fromBytes(payload), idWords(id));
  if (held) {
    const { end } = domain as Domain & { end(upper: boolean): string };
    const answers = held.map(([code, upper]): Said => {
      const [key, number] = [domain.label(code), upper === null ? "" : end.call(domain, upper)];
      return upper === null ? { group: "", from: key, to: key } : { group: key, from: number, to: number };
    });
    return { answers: answers.length ? answers : [{ group: "", from: "", to: "" }], tried: manifest.asked(arm).choices!.length, any: false };
  }
  const naming = channel as { named?: Names; denied?: Names; items?: bigint };
  const named = naming.named?.(fromBytes(payload), idWords(id));
  const { pair } = domain as { pair?: (code: bigint) => string[] };
  if (named && pair) return { answers: pairs(named, naming.denied?.(fromBytes(payload), idWords(id)) ?? [], (code) => pair.call(domain, code)), tried: Number(naming.items), any: false };
  const items = named?.map((item) => domain.label(item));
  if (items) return { answers: (items.length ? items : [""]).map((text) => ({ group: "", from: text, to: text })), tried: Number(naming.items), any: false };
  const { chosen } = domain as { chosen?: Domain[] };
  const all = chosen && manifest.asked(arm).domain.fields ? cellsOf(chosen, Number(domain.size)) : tried(manifest, arm);
  if (!all.length || all.length > 4 * MOST_TRIED || (domain.size !== null && domain.size > all.length)) return { answers: [], tried: 0, any: false };
  const [report, words] = [fromBytes(payload), channel.publics ? idWords(id) : NO_WORDS];
  const supporting = channel as { supports?: (report: bigint, code: unknown) => boolean };
  const chances = all.map(({ value, cell }) => {
    const code = cell ? value : manifest.encode(arm, value);
    return supporting.supports ? Fraction.of(BigInt(supporting.supports(report, code))) : channel.likelihood(report, code, words);
  });
  const most = chances.reduce((one, other) => (other.compare(one) > 0 ? other : one), ZERO);
  const answers: Said[] = [];
  let before = false;
  all.forEach(({ group, text, follows, cell }, place) => {
    const best = chances[place]!.equals(most);
    if (best && before && follows) answers.at(-1)!.to = text;
    else if (best) answers.push({ group, from: text, to: text, ...(cell && { cell }) });
    before = best;
  });
  return { answers, tried: all.length, any: chances.every((one) => one.equals(most)) };
}
