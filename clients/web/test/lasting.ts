import type { Name, Store } from "../src/device/store";

/** A store that lasts, in memory. */
export function lasting(): Store {
  const maps: { [name: string]: Map<string, unknown> } = {};
  const of = (name: Name): Map<string, any> => (maps[name] ??= new Map());
  const stores = {
    get: async (name: Name, key: string) => of(name).get(key),
    all: async (name: Name) => [...of(name).values()],
    put: async (name: Name, key: string, value: unknown) => void of(name).set(key, value),
    add: async (name: Name, key: string, value: unknown) => void of(name).set(key, value),
    remove: async (name: Name, key: string) => void of(name).delete(key),
  };
  return { lasting: true, change: (work) => work(stores) };
}
