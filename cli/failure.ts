// The error of a command that cannot do what it was asked: what happened, and the next step. Exit codes are part of the contract of `cup`.

export const EXIT_CODES = {
  /** The platform refused, or the result did not come about. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** No API, user, org or space is targeted. */
  target: 3,
  /** The API cannot be reached. */
  unreachable: 4,
} as const;
export type FailureKind = keyof typeof EXIT_CODES;

/** Which request the API refused, and with which code of CF. */
export interface Refusal {
  method: string;
  path: string;
  code: number | undefined;
}

export class Failure extends Error {
  readonly kind: FailureKind;
  /** Next step: a command to type or a thing to look at. */
  readonly next: string | undefined;
  /** Last lines of the log that tells why. */
  readonly log: readonly string[];
  /** The exit code of this process: that of the kind, or that of the command that `cup run` ran. */
  readonly exitCode: number;
  /** The API's refusal, where one is the cause. */
  readonly refusal: Refusal | undefined;

  constructor(
    message: string,
    options: {
      kind?: FailureKind;
      next?: string;
      log?: readonly string[];
      exitCode?: number;
      refusal?: Refusal | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "Failure";
    this.kind = options.kind ?? "failed";
    this.next = options.next;
    this.log = options.log ?? [];
    this.refusal = options.refusal;
    this.exitCode = options.exitCode ?? EXIT_CODES[this.kind];
  }
}
