// A check of `cup doctor --cluster` and its findings. docs/operate/doctor.md is generated from the checks.
import type { Readings } from "./facts.ts";

/** `problem`: something does not work, or will not soon. `note`: an operator should know. */
export type Severity = "problem" | "note";

export interface Finding {
  code: number;
  severity: Severity;
  /** The fault, as a clause without its full stop. */
  what: string;
  /** The objects, as `kind namespace/name`; the first ones where there are many. */
  where: readonly string[];
  /** A command to type, or a thing to look at. */
  next: string;
}

/** A finding as a check tells it; its severity is the check's unless it says otherwise. */
export type Found = Pick<Finding, "what" | "next"> & { where?: readonly string[]; severity?: Severity };

export interface Check {
  code: number;
  /** The heading on the page, and the line where nothing is wrong. */
  title: string;
  severity: Severity;
  /** For the page: when it is found. */
  fault: string;
  /** For the page: what to do. Markdown. */
  mend: string;
  /** Judged by --pre, too: before Cupola is installed. */
  isBeforeInstallation?: true;
  /** Judged with --probe alone. */
  needsProbe?: true;
  /** Pure. @throws CouldNotLook when a fact that it needs could not be read */
  judge(read: Readings): readonly Found[];
}

export interface CheckGroup {
  title: string;
  checks: readonly Check[];
}

/** A fact could not be read: a right is missing, the server did not answer, or there is too much of it. */
export class CouldNotLook extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "CouldNotLook";
  }
}

const MAX_NAMED = 5;

/** The first names, and how many there are besides. */
export function nameFirst(names: readonly string[]): string[] {
  const more = names.length - MAX_NAMED;
  return more > 0 ? [...names.slice(0, MAX_NAMED), `and ${more} more`] : [...names];
}

/** `one space`, `3 spaces`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${number} ${number === 1 ? singular : plural}`;
}
