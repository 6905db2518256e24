/** Every refusal of this library is one sentence, and none repeats an answer. */
export type ErrorKind = "spec" | "privacy" | "domain" | "report" | "storage" | "study" | "network";

export class SottovoceError extends Error {
  constructor(
    readonly kind: ErrorKind,
    message: string,
    /** A short word for programs, where one kind has several cases. */
    readonly code: string = kind,
  ) {
    super(message);
    this.name = "SottovoceError";
  }
}

export function refuse(message: string, kind: ErrorKind = "spec", code?: string): never {
  throw new SottovoceError(kind, message, code);
}

export function need(holds: unknown, message: string, kind?: ErrorKind, code?: string): void {
  if (!holds) refuse(message, kind, code);
}

export function infinite(): never {
  return refuse("A channel that gives no privacy is refused.", "privacy");
}

/** A file beside the main bundle. */
export function part<T>(loading: Promise<T>): Promise<T> {
  return loading.catch(() => refuse("A part of this client cannot be loaded.", "network"));
}
