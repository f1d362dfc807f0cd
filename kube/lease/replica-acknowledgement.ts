// Whether every replica has a version of something in force: each replica reports, and one of them compares the reports with the members. Pure.
import type { Member } from "./member.ts";

/** A replica's report. */
export interface Report {
  /** Identity of the replica. */
  replica: string;
  /** uid of its Lease: a restarted replica has applied nothing yet. */
  leaseUid: string;
  /** Versions that it has in force. */
  applied: ReadonlySet<string>;
  /** Why it cannot apply some; empty on success. */
  error: string;
}

export interface Acknowledgement {
  enforced: boolean;
  /** Replicas that have not applied the version. */
  pendingReplicas: string[];
  errors: { replica: string; error: string }[];
}

export interface AcknowledgementInput {
  version: string;
  members: readonly Pick<Member, "identity" | "leaseUid">[];
  reports: readonly Report[];
  /**
   * Whether every replica had this version before. Then a member without a report does not count: it has joined since, lists after it has its Lease, and
   * serves after that.
   */
  wasEnforced: boolean;
}

/** Enforced when every member has applied the version and reports no error. */
export function planAcknowledgement({ version, members, reports, wasEnforced }: AcknowledgementInput): Acknowledgement {
  const answers = members.map(({ identity, leaseUid }) => ({
    identity,
    report: reports.find((report) => report.replica === identity && report.leaseUid === leaseUid),
  }));
  const pendingReplicas = answers
    .filter(({ report }) => (report ? !report.applied.has(version) && report.error === "" : !wasEnforced))
    .map(({ identity }) => identity)
    .sort();
  const errors = answers
    .flatMap(({ identity, report }) => (report?.error ? [{ replica: identity, error: report.error }] : []))
    .sort((a, b) => (a.replica < b.replica ? -1 : 1));
  const enforced = members.length > 0 && pendingReplicas.length === 0 && errors.length === 0;
  return { enforced, pendingReplicas, errors };
}
