/** Studies that ask the same people again: in waves that the device draws, or in rounds whose losses add up. */
import { expect, test } from "vitest";
import { lasting } from "./lasting";
import { Study } from "../src/device/study";
import { Manifest } from "../src/manifest";
import { load } from "./vectors";

const WEEK = 7 * 86_400_000;
const START = Date.UTC(2027, 2, 1);
const plain = (has: string): any => JSON.parse(load("manifests").good.find((one: any) => one.content.includes(has)).content);
Object.assign(globalThis, { addEventListener: () => undefined });

async function act(work: () => Promise<{ state: string }>): Promise<string> {
  try {
    return (await work()).state;
  } catch (problem) {
    return (problem as { code: string }).code;
  }
}

test.each([1, 4, 12])("a device answers once in any %i waves in a row, on its turns", async (window) => {
  const manifest = Manifest.fromSpec(plain(`"waves":12,"window":${window}}`));
  const store = lasting();
  const answered: number[] = [];
  for (let wave = 0; wave < 12; wave++) {
    const study = new Study(manifest, "", store, { now: () => START + wave * WEEK + 1000 });
    const before = await study.state();
    const [one, other] = await Promise.all([act(() => study.send({ cups: 5 })), act(() => study.send({ cups: 0 }))]);
    const state = one === "queued" ? one : other; // of two calls at once one is answered at most
    expect([one, other].filter((said) => said === "queued").length).toBe(Number(before === "open"));
    if (state === "queued") answered.push(wave);
    else expect(answered.length ? ["waiting", "answered"] : ["waiting"]).toContain(state);
    expect(await act(() => study.send({ cups: 5 }))).not.toBe("queued");
    const { window: near, study: all } = await study.spent();
    expect(near).toBeLessThanOrEqual(1);
    expect(all).toBeCloseTo(answered.length, 9);
    expect((await study.sent()).map((one) => one.epoch).sort((a, b) => a - b)).toEqual(answered);
  }
  expect(answered.length).toBe(12 / window);
  expect(answered.every((wave, place) => wave === answered[0]! + place * window)).toBe(true);
  expect(() => new Study(manifest, "", store, { now: () => START + 12 * WEEK })).toThrow(/has ended/);
});

test("the next turn has a date, and the last one has none after it", async () => {
  const manifest = Manifest.fromSpec(plain('"waves":12,"window":4}'));
  const store = lasting();
  const at = (wave: number): Study => new Study(manifest, "", store, { now: () => START + wave * WEEK });
  const first = (await at(0).nextTurn()) ?? "";
  expect(["2027-03-08", "2027-03-15", "2027-03-22", "2027-03-29"]).toContain(first);
  expect(await at(11).nextTurn()).toBe(null);
});

test("a device answers each round once, and no more rounds than the study says", async () => {
  const first = plain('"rounds":2');
  const store = lasting();
  const round = (number: number): Study => {
    const parts = number === 1 ? {} : { parent: "1".repeat(64), root: Manifest.fromSpec(first).hash };
    return new Study(Manifest.fromSpec(JSON.stringify({ ...first, ...parts, round: number })), "", store, {});
  };
  expect(await act(() => round(1).send({ cups: 4 }))).toBe("queued");
  expect(await act(() => round(1).send({ cups: 4 }))).toBe("answered");
  expect(await act(() => round(2).send({ cups: 4 }))).toBe("queued");
  expect(await act(() => round(3).send({ cups: 4 }))).toBe("answered");
  expect((await round(2).spent()).study).toBeCloseTo(2, 9);
});

test("a window that forgets everything is refused", () => {
  const manifest = Manifest.fromSpec(plain('"waves":12,"window":4}'));
  const passing = Object.assign(lasting(), { lasting: false });
  expect(() => new Study(manifest, "", passing, { now: () => START })).toThrow(/keeps nothing/);
});

test("rounded losses of many waves keep the sum that the study and the device allow", async () => {
  const manifest = Manifest.fromSpec(plain('"waves":3,"window":1}'));
  const [store, options] = [lasting(), { lifetimeLimit: "2.04" }];
  const at = (wave: number): Study => new Study(manifest, "", store, { ...options, now: () => START + wave * WEEK });
  for (let wave = 0; wave < 3; wave++) {
    expect(await act(() => at(wave).send({ cups: 5 })), `wave ${wave + 1}`).toBe("queued");
  }
  expect((await at(2).spent()).study).toBeCloseTo(2.04, 9);
});
