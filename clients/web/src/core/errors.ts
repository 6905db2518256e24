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

export function refuse(message: string, kind: ErrorKind = "spec"): never {
  throw new SottovoceError(kind, message);
}

export function need(holds: boolean, message: string, kind: ErrorKind = "spec"): void {
  if (!holds) refuse(message, kind);
}
