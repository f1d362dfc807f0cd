// The differences that are accepted, each with its reason. A difference that none of these explains is a fault of the embedded server.
import type { Difference } from "./compare.ts";

export interface KnownDifference {
  /** Short and unique. */
  name: string;
  /** Why it is accepted, for docs/fidelity.md. */
  reason: string;
  /** Whether this is all that differs. */
  explains?(difference: Difference): boolean;
  /** Parts of messages that are not compared: what matches is cut off on both sides, up to the end of the line. */
  words?: readonly RegExp[];
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    name: "how Go prints types and values",
    reason: "messages about values of a wrong type quote Go's own types and struct fields; status, reason and the path of the field are the same",
    words: [/(?<=, got ).*/, /(?<=error strict decoding YAML: ).*/, /json: cannot unmarshal .*/, /illegal base64 data.*/, /json: .*/, /unable to unmarshal.*/],
  },
];

/** A message without the words that may differ. */
export function withoutWords(message: string): string {
  return KNOWN_DIFFERENCES.flatMap(({ words = [] }) => words).reduce((text, words) => text.replaceAll(new RegExp(words, "g"), "…"), message);
}
