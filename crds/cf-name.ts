// The characters that a CF name may contain: names that look alike must be equal. API and CRDs share the patterns.
import { z } from "zod";
import { withRules, type CelRule } from "../kube/api/resource.ts";

/** Control, format (zero-width, direction) and line separator characters. */
const INVISIBLE_CATEGORIES = String.raw`\p{Cc}\p{Cf}\p{Zl}\p{Zp}`;
/** Letters and marks that are invisible. Both RegExp and CEL read these escapes. */
const INVISIBLE_LETTERS = String.raw`\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0`;
const INVISIBLE = `[${INVISIBLE_CATEGORIES}${INVISIBLE_LETTERS}]`;
const OUTER_BLANK = String.raw`^\p{Z}|\p{Z}$`;

const FORBIDDEN = [
  { pattern: INVISIBLE, message: "must not contain control or zero-width characters" },
  { pattern: OUTER_BLANK, message: "must not begin or end with a blank" },
] as const;

const checks = FORBIDDEN.map(({ pattern, message }) => ({ regexp: new RegExp(pattern, "u"), message }));

/** The problem with a CF name's characters, as a predicate for "name"; undefined for a valid name. */
export function cfNameProblem(name: string): string | undefined {
  return checks.find(({ regexp }) => regexp.test(name))?.message;
}

/** A CEL string needs two backslashes, except in escapes that CEL itself reads. */
function toCelString(pattern: string): string {
  return `'${pattern.replaceAll(String.raw`\p`, String.raw`\\p`)}'`;
}

const rules: CelRule[] = FORBIDDEN.map(({ pattern, message }) => ({
  rule: `!self.matches(${toCelString(pattern)})`,
  message: `a name ${message}`,
}));

/** A CF name in a spec. The rules apply to new names only: Kubernetes does not validate an unchanged value again. */
export const cfName = withRules(z.string().min(1).max(255), rules);
