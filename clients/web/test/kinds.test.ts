/** The client reads the kinds of the package, with the same fields; `vectors/kinds.json` is the package's table. */
import { expect, test } from "vitest";
import { NODES } from "../src/channel/channel";
import { MAPS } from "../src/channel/maps";
import { SETS } from "../src/channel/sets";
import { SottovoceError } from "../src/core/errors";
import type { Kinds, Reader } from "../src/core/read";
import { DOMAINS } from "../src/domain/domain";
import "../src/mechanism";
import "../src/channel/rare";
import "../src/tables/index";
import "../src/tables/keys";
import "../src/vector/index";
import { load } from "./vectors";

// A browser refuses what computes with floats.
const UNKNOWN: { [table: string]: string[] } = { channel: ["cap", "projected"], domain: ["ball"] };
const TABLES: { [table: string]: Kinds<any> } = { channel: NODES, domain: DOMAINS, map: MAPS, sets: SETS };
// A plain value of another type than that of the field.
const WRONG: { [type: string]: unknown } = { integer: "1", text: 1n, decimal: 1n };

function refuses(read: Reader, value: unknown): boolean {
  try {
    read(value);
  } catch (problem) {
    if (problem instanceof SottovoceError || problem instanceof TypeError) return true;
    throw problem;
  }
  return false;
}

for (const [table, kinds] of Object.entries(TABLES)) {
  const known = load("kinds").filter((one: any) => one.table === table && !UNKNOWN[table]?.includes(one.kind));

  test(`the kinds of the table ${table}`, () => {
    expect([...kinds.keys()].sort()).toEqual(known.map((one: any) => one.kind).sort());
  });

  test(`the fields of the table ${table} and their types`, () => {
    for (const { kind, fields } of known) {
      const readers = kinds.get(kind)![1];
      expect(Object.keys(readers).sort(), kind).toEqual(Object.keys(fields).sort());
      for (const [name, type] of Object.entries<string>(fields)) {
        const wrong = WRONG[type.replace("?", "")] ?? true;
        expect(refuses(readers[name]!, wrong), `${kind}: ${name} is a ${type}`).toBe(true);
      }
    }
  });
}

test("questions and statistics are the collector's business", () => {
  const asked = load("kinds").filter((one: any) => ["question", "statistic"].includes(one.table));
  for (const { kind } of asked) expect(kind).toMatch(/^[a-z][a-z\d-]{0,39}$/);
});
