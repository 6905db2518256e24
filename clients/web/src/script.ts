/** For pages without modules: `sottovoce.open` and its like load the module beside this file. */
type Api = typeof import("./index");
const here = (document.currentScript as HTMLScriptElement).src;
const module: Promise<Api> = import(new URL("sottovoce.js", here).href);

function later<Name extends "open" | "mechanism" | "seeded">(name: Name) {
  return (...given: Parameters<Api[Name]>) => module.then((api) => (api[name] as (...given: any[]) => unknown)(...given));
}

Object.assign(globalThis, { sottovoce: { open: later("open"), mechanism: later("mechanism"), seeded: later("seeded") } });
