// Bodies and queries of security groups.
import { z } from "zod";
import { findRuleProblems } from "../../crds/security-group/rules.ts";
import type { SecurityRule } from "../../crds/security-group/security-group.ts";
import { optionalRelationships, requiredText, toManySchema } from "../http/shared-schemas.ts";
import { booleanText, csv, listQuery } from "../http/query.ts";
import { shownAs } from "../http/shown-as.ts";

const name = requiredText("Name").min(1).max(250);

const globallyEnabled = z.unknown().transform((value, context): { running?: boolean; staging?: boolean } => {
  const problem = findSwitchProblem(value);
  if (problem === undefined) return (value ?? {}) as { running?: boolean; staging?: boolean };
  context.addIssue({ code: "custom", message: problem });
  return z.NEVER;
});

function findSwitchProblem(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) return "must be an object";
  if (Object.keys(value).some((key) => key !== "running" && key !== "staging"))
    return "only allows keys 'running' or 'staging'";
  return Object.values(value).every((one) => typeof one === "boolean") ? undefined : "values must be booleans";
}

const rules = z.unknown().transform((value, context): SecurityRule[] => {
  if (!Array.isArray(value)) {
    context.addIssue({ code: "custom", message: "must be an array" });
    return z.NEVER;
  }
  // Rails takes nulls out of arrays; the Terraform provider sends one to take the last rule away.
  const given = value.filter((rule) => rule !== null);
  const problems = given.flatMap((rule, at) => findRuleProblems(rule).map((text) => `Rules[${at}]: ${text}`));
  for (const message of problems) context.addIssue({ code: "custom", message, params: { whole: true } });
  return problems.length > 0 ? z.NEVER : (given as SecurityRule[]).map(withoutAbsent);
});

/** A null says the same as nothing. */
function withoutAbsent(rule: SecurityRule): SecurityRule {
  return Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== null)) as SecurityRule;
}

const switches = z.strictObject({ running: z.boolean(), staging: z.boolean() }).partial();
const ruleList = z.array(
  z.strictObject({
    protocol: z.enum(["tcp", "udp", "icmp", "icmpv6", "all"]),
    destination: z.string(),
    ports: z.string().nullish(),
    type: z.int().nullish(),
    code: z.int().nullish(),
    description: z.string().nullish(),
    log: z.boolean().nullish(),
  }),
);

export const createGroupBody = z.strictObject({
  name,
  rules: shownAs(rules, ruleList).optional(),
  globally_enabled: shownAs(globallyEnabled, switches).optional(),
  relationships: optionalRelationships({
    running_spaces: toManySchema.nullish(),
    staging_spaces: toManySchema.nullish(),
  }),
});
export const updateGroupBody = z.strictObject({
  name: name.optional(),
  rules: shownAs(rules, ruleList).optional(),
  globally_enabled: shownAs(globallyEnabled, switches).optional(),
});

export const groupListQuery = listQuery(
  {
    names: csv.optional(),
    running_space_guids: csv.optional(),
    staging_space_guids: csv.optional(),
    globally_enabled_running: booleanText.optional(),
    globally_enabled_staging: booleanText.optional(),
  },
  { labels: false },
);
export const spaceGroupListQuery = listQuery({ names: csv.optional() }, { labels: false });
