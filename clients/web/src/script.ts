/** For pages without modules: the same functions, which load the module beside this file. */
const here = (document.currentScript as HTMLScriptElement).src;
const module: Promise<typeof import("./index")> = import(new URL("sottovoce.js", here).href);

type Api = typeof import("./index");
export const open = (...given: Parameters<Api["open"]>): ReturnType<Api["open"]> => module.then((api) => api.open(...given));
export const mechanism = (source: unknown): ReturnType<Api["mechanism"]> => module.then((api) => api.mechanism(source));
export const seeded = (seed: number | bigint): ReturnType<Api["seeded"]> => module.then((api) => api.seeded(seed));
