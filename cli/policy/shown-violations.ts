// The rules of operator policy that a space breaks, or an app with what belongs to it. Pure but for readViolations.
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { table } from "../output.ts";

export interface PolicyViolation {
  /** `Kind/name`. */
  constraint: string;
  action: "deny" | "warn" | "dryrun";
  kind: string;
  name: string;
  message: string;
}

/** CF's code of a path that the API does not have. */
const UNKNOWN_PATH = 10000;

/** None from a platform that does not tell them. */
export async function readViolations(
  { api }: Pick<Context, "api">,
  of: "apps" | "spaces",
  guid: string,
): Promise<PolicyViolation[]> {
  const path = `/v3/${of}/${guid}/policy_violations`;
  const { resources } = await api.request<{ resources: PolicyViolation[] }>("GET", path).catch((error: unknown) => {
    if (error instanceof Failure && error.refusal?.code === UNKNOWN_PATH) return { resources: [] };
    throw error;
  });
  return resources;
}

const SAYS = { deny: "refuses", warn: "warns", dryrun: "dryrun" } as const;

/** A line for each, after an empty one. */
export function toViolationLines(violations: readonly PolicyViolation[]): string[] {
  if (violations.length === 0) return [];
  const rows = violations.map(({ action, kind, name, message }) => [SAYS[action], `${kind}/${name}`, message]);
  return ["", ...table(["policy", "object", "rule that it breaks"], rows)];
}
