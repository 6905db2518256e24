/** A report leaves the device at a public time after the call, so that the duration tells nothing about the answer. */
import type { Mechanism } from "../mechanism";

const SHORTEST = 100; // milliseconds: many times what it takes to draw and write an ordinary report
const STEPS = 4096; // numbers and words that a device reads in a part of that

/** Milliseconds of a tick, from public quantities only. */
export function tickOf(mechanisms: readonly Mechanism[]): number {
  const steps = mechanisms.map(({ domain, channel }) => (domain.coordinates?.length ?? 0) + channel.words);
  return SHORTEST * (1 + Math.floor(Math.max(...steps) / STEPS));
}

/** Do the work, and return at the tick or at a multiple of it; a refusal waits as well. */
export async function atTick<T>(tick: number, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  try {
    return await work();
  } finally {
    const now = performance.now();
    const due = began + tick * (Math.floor((now - began) / tick) + 1);
    await new Promise((resolve) => setTimeout(resolve, due - now));
  }
}
