/** What a device sends: a batch of reports of one arm, as CBOR in its one form, or as JSON. */
import { hex, join, toBytes, unhex, utf8 } from "./core/bytes";
import { need, refuse } from "./core/errors";
import { isSpec, parse } from "./core/json";

export const VERSION = 1;
export const MOST_REPORTS = 1000;
const ID = 16;
const PREFIX = 8;
const TOKEN = 16;
export const LARGEST = 2 ** 32 - 1;
const KEYS = ["version", "manifest", "epoch", "round", "arm", "ids", "payloads", "tokens"] as const;
const NUMBERS = ["version", "epoch", "round", "arm"];
export const CBOR_TYPE = "application/cbor";

export interface Batch {
  manifest: Uint8Array;
  epoch: number;
  round: number;
  arm: number;
  ids: Uint8Array;
  payloads: Uint8Array;
  /** Invitations, one for each report, in the studies that have them; otherwise empty. */
  tokens: Uint8Array;
}

/** The batch, if it is one that a collector reads. */
export function checked(batch: Batch): Batch {
  for (const name of ["epoch", "round", "arm"] as const)
    need(
      Number.isInteger(batch[name]) && batch[name] >= 0 && batch[name] <= LARGEST,
      `The ${name} of a batch is a whole number from 0 to ${LARGEST}.`,
      "report",
    );
  need(batch.manifest.length === PREFIX, `A batch names its manifest by ${PREFIX} bytes.`, "report");
  const count = batch.ids.length / ID;
  need(Number.isInteger(count) && count >= 1 && count <= MOST_REPORTS, "A batch has 1 to 1000 ids of 16 bytes.", "report");
  need(
    batch.payloads.length > 0 && batch.payloads.length % count === 0,
    "The payloads of a batch are equally wide, one for each id.",
    "report",
  );
  need([0, count * TOKEN].includes(batch.tokens.length), "The tokens of a batch are 16 bytes for each id, or absent.", "report");
  return batch;
}

/** The shortest head of a CBOR item: of a number, or of bytes with so many of them. */
function head(number: number, kind: number): Uint8Array {
  if (number < 24) return Uint8Array.of((kind << 5) | number);
  const size = number < 2 ** 8 ? 0 : number < 2 ** 16 ? 1 : 2;
  return join(Uint8Array.of((kind << 5) | (24 + size)), toBytes(BigInt(number), 1 << size).reverse());
}

function values({ manifest, epoch, round, arm, ids, payloads, tokens }: Batch): (number | Uint8Array)[] {
  const all = [VERSION, manifest, epoch, round, arm, ids, payloads];
  return tokens.length ? [...all, tokens] : all;
}

export function toCbor(batch: Batch): Uint8Array {
  const items = values(batch).map((one, key) =>
    typeof one === "number" ? join(head(key, 0), head(one, 0)) : join(head(key, 0), head(one.length, 2), one),
  );
  return join(Uint8Array.of(0xa0 + items.length), ...items);
}

export function toJson(batch: Batch): Uint8Array {
  const plain = values(batch).map((one, key) => [KEYS[key], typeof one === "number" ? one : hex(one)]);
  return utf8(JSON.stringify(Object.fromEntries(plain)));
}

function fromNamed(named: Map<string, number | Uint8Array>): Batch {
  const known = KEYS.slice(0, 7).every((name) => named.has(name)) && named.size === 7 + Number(named.has("tokens"));
  need(known, `A batch has the fields ${KEYS.slice(0, 7).join(", ")}, and tokens in some studies.`, "report");
  need(named.get("version") === VERSION, `This batch has another version than ${VERSION}.`, "report");
  const tokens = named.get("tokens") ?? new Uint8Array(0);
  return checked({ ...Object.fromEntries([...named].filter(([name]) => name !== "version")), tokens } as Batch);
}

export function fromCbor(data: Uint8Array): Batch {
  const wrong = (): never => refuse("This is not a batch in the one CBOR form.", "report");
  if (data[0] !== 0xa7 && data[0] !== 0xa8) wrong();
  let place = 1;
  const read = (kind: number): number => {
    const first = data[place] ?? 0xff;
    const code = first & 31;
    const size = code === 24 ? 1 : code === 25 ? 2 : code === 26 ? 4 : 0;
    let number = size ? 0 : code;
    for (let i = 1; i <= size; i++) number = number * 256 + (data[place + i] ?? 0);
    if (first >> 5 !== kind || code > 26 || place + size >= data.length || head(number, kind).length !== 1 + size) wrong();
    place += 1 + size;
    return number;
  };
  const named = new Map<string, number | Uint8Array>();
  for (let key = 0; key < data[0]! - 0xa0; key++) {
    const name = KEYS[key]!;
    if (read(0) !== key) wrong();
    if (NUMBERS.includes(name)) {
      named.set(name, read(0));
      continue;
    }
    const size = read(2);
    if (place + size > data.length) wrong();
    named.set(name, data.slice(place, (place += size)));
  }
  if (place !== data.length || (named.get("tokens") as Uint8Array | undefined)?.length === 0) wrong();
  return fromNamed(named);
}

export function fromJson(data: Uint8Array): Batch {
  const { spec } = parse(data);
  const named = new Map<string, number | Uint8Array>();
  for (const [name, one] of Object.entries(isSpec(spec) ? spec : {})) {
    if (NUMBERS.includes(name)) {
      need(typeof one === "bigint", "The numbers of a batch are whole.", "report");
      named.set(name, Number(one));
    } else {
      need(typeof one === "string" && /^([0-9a-f]{2})*$/.test(one), "Bytes of a batch in JSON are lower-case hexadecimal.", "report");
      named.set(name, unhex(one as string));
    }
  }
  return fromNamed(named);
}
