/** A study of persons is answered once, and again in a further epoch only from the memos of the epochs before. */
import { expect, test } from "vitest";
import { lasting } from "./lasting";
import { Study } from "../src/device/study";
import { Manifest } from "../src/manifest";
import { load } from "./vectors";

const DAY = 86_400_000;
const [FIRST, OTHER] = ["0".repeat(64), "1".repeat(64)];

test("a further epoch needs the memos of the epochs before", async () => {
  Object.assign(globalThis, { addEventListener: () => undefined });
  const plain = JSON.parse(load("manifests").good.find((one: any) => one.content.includes('"rappor"')).content);
  const [kept] = plain.arms;
  const other = { ...kept, mechanism: { ...kept.mechanism, name: "rappor-again" } };
  const once = JSON.parse(load("manifests").good[0].content).arms[2]; // it keeps no memo
  const round = (arms: unknown[], number: number): object => ({
    ...plain,
    ...{ arms, round: number, parent: number === 1 ? null : OTHER, root: number === 1 ? null : FIRST },
    ...{ study: { ...plain.study, lifetime: "20" } },
  });
  let now = Date.UTC(2027, 2, 1);
  const store = lasting();
  const study = (arms: unknown[], number = 2): Study =>
    new Study(Manifest.fromSpec(JSON.stringify(round(arms, number))), "", store, { now: () => now });
  const answered = async (arms: unknown[]): Promise<string> => {
    try {
      return (await study(arms).send({ cups: 1 })).state;
    } catch (problem) {
      return (problem as { code: string }).code;
    }
  };
  expect(await answered([kept])).toBe("queued");
  expect(await answered([kept])).toBe("answered"); // once in an epoch
  now += DAY;
  for (const arms of [[other], [{ ...kept, name: "cups:0" }, { ...other, name: "cups:1" }], [once]]) {
    expect(await answered(arms)).toBe("answered");
    expect(await study(arms).state()).toBe("answered");
  }
  expect(await answered([{ ...kept, name: "cups:later" }])).toBe("queued"); // another round of the same mechanism
  expect((await study([kept]).sent()).length).toBe(2);
});

test("parents and roots are hashes", () => {
  const plain = JSON.parse(load("manifests").good.find((one: any) => JSON.parse(one.content).round === 2).content);
  for (const wrong of ["00", "x".repeat(64), FIRST.replace(/0$/, "A"), `${FIRST}\n`])
    for (const key of ["parent", "root"])
      expect(() => Manifest.fromSpec(JSON.stringify({ ...plain, [key]: wrong })), key).toThrow(key);
  expect(Manifest.fromSpec(JSON.stringify({ ...plain, parent: OTHER, root: FIRST })).study).toBe(FIRST);
});
