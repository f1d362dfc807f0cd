// The kinds that rules may judge: those that people write.
import { findDefinition, DEFINITIONS } from "../definitions.ts";
import { GROUP } from "../groups.ts";
import type { KindDefinition } from "../kind.ts";

/** Kinds that the platform alone writes, and policy itself. */
const NOT_JUDGED: ReadonlySet<string> = new Set([
  "AuditLog",
  "Claim",
  "PolicyTemplate",
  "Replica",
  "SSHCode",
  "ServiceUsageLog",
  "UsageLog",
]);

/** Kinds that rules with reads may judge: those that the start gate holds back. A write of another kind would be in force before anybody could judge it again. */
export const GATED_KINDS: readonly string[] = ["App", "Droplet", "Task"];

/** The definition of a kind that rules may judge; undefined for any other. */
export function findSubject(kind: string): KindDefinition | undefined {
  const definition = findDefinition(kind);
  return definition?.group === GROUP && !NOT_JUDGED.has(kind) ? definition : undefined;
}

/** Definitions of all kinds that rules may judge. */
export function listSubjectKinds(): KindDefinition[] {
  return DEFINITIONS.filter(({ kind }) => findSubject(kind) !== undefined);
}

/** Names of all kinds that rules may judge. */
export function listSubjects(): string[] {
  return listSubjectKinds().map(({ kind }) => kind);
}

/** Whether all objects of the kind are in namespaces of spaces. */
export function livesInSpaces({ livesIn }: KindDefinition): boolean {
  return livesIn?.length === 1 && livesIn[0] === "space";
}
