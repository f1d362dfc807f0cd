// Parts of a sequence: requests as data. Placeholders in strings stand for what only the running server knows. Types only.
import type { Json, PatchType } from "../kubernetes/api.ts";

export type Verb = "create" | "get" | "list" | "update" | "patch" | "delete" | "deletecollection";

export interface Step {
  verb: Verb;
  /** The name of a kind in `kinds.ts`. */
  kind: string;
  /** Absent for list, deletecollection, and a create whose name is generated. */
  name?: string;
  subresource?: "status" | "scale";
  query: Record<string, string>;
  /**
   * `<uid>`, `<rv>` and `<old-rv>` as a whole string stand for the object's uid, its last seen version and the one before.
   * In an update with `edit` it is a merge patch, carried out on what a get answers.
   */
  body?: Json;
  edit?: boolean;
  /** Instead of `body`: sent as it is. */
  text?: string;
  patch?: PatchType;
}

/** An answer, or what a step led to, to be compared. */
export interface Outcome {
  status: number;
  body: Json;
  warnings: string[];
}

/** The next of a kind's operations, to be shown to a person. */
export function describeStep({ verb, kind, name, subresource, query, patch, edit, body, text }: Step): string {
  const options = new URLSearchParams(query).toString();
  const what = [
    patch ?? (edit ? "edit" : verb),
    [kind, name, subresource].filter(Boolean).join("/") + (options && `?${options}`),
  ].join(" ");
  const sent = text ?? (body === undefined ? "" : JSON.stringify(body));
  return sent ? `${what} ${sent}` : what;
}
