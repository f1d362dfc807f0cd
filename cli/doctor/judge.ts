// Runs the checks over the facts. Pure.
import { CHECK_GROUPS } from "./checks.ts";
import { CouldNotLook, type Check, type Finding } from "./finding.ts";
import type { Readings } from "./facts.ts";

/** A check with its outcome. */
export interface Judged {
  check: Check;
  findings: readonly Finding[];
  /** Why it could not look. */
  unread?: string;
}

export interface JudgedGroup {
  title: string;
  judged: readonly Judged[];
}

/** Checks that need an installation are left out before it, those that need a probe without one. */
export function judgeFacts(read: Readings): JudgedGroup[] {
  const isEarly = read.isBeforeInstallation();
  const isProbing = read.isProbing();
  return CHECK_GROUPS.map(({ title, checks }) => ({
    title,
    judged: checks
      .filter(
        ({ isBeforeInstallation, needsProbe }) => (!isEarly || isBeforeInstallation) && (isProbing || !needsProbe),
      )
      .map((check) => judgeOne(check, read)),
  })).filter(({ judged }) => judged.length > 0);
}

function judgeOne(check: Check, read: Readings): Judged {
  try {
    const findings = check.judge(read).map(({ where = [], severity = check.severity, ...found }) => ({
      code: check.code,
      severity,
      where,
      ...found,
    }));
    return { check, findings };
  } catch (error) {
    if (!(error instanceof CouldNotLook)) throw error;
    return { check, findings: [], unread: error.message };
  }
}
