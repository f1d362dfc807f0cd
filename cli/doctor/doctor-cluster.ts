// `cup doctor --cluster`: says what is wrong with a platform on a cluster, by the kubeconfig alone, so also while the CF API is down.
import { lookup } from "node:dns/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { loadKubeconfig, type KubeconfigAccess } from "../../kube/client/kubeconfig.ts";
import { cupolaVersion } from "../../platform/version.ts";
import { stdoutColours } from "../colours.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";
import type { Finding } from "./finding.ts";
import { judgeFacts, type Judged, type JudgedGroup } from "./judge.ts";
import { readFacts } from "./read-facts.ts";

export interface ClusterDoctorOptions {
  kubeconfig?: string;
  context?: string;
  /** Before Cupola is installed. */
  pre?: boolean;
  /** Start pods, and try what they can do. */
  probe?: boolean;
  /** Until nothing is wrong, or this many seconds. */
  wait?: number;
}

/** Exit codes: no problem, a problem, or a part of the platform that could not be looked at. */
const EXIT = { fine: 0, problem: 1, unread: 2 } as const;
const READ_DEADLINE_MS = 120_000;
/** Longer than a probe, which ends by itself. */
const PROBE_DEADLINE_MS = 300_000;
const RESOLVE_DEADLINE_MS = 5_000;
const PAUSE_MS = 2_000;

/** @throws Failure, with exit code 2, when the kubeconfig cannot be used or the API server does not answer */
export async function doctorCluster(progress: Progress, options: ClusterDoctorOptions): Promise<Result> {
  const access = await loadAccess(options);
  const kube = createClient({ ...access, userAgent: `cup/${cupolaVersion()}`, fieldManager: "cup" });
  try {
    await requireAnswer(kube, access.context);
    progress.step(`Looking at ${access.context} (${kube.server})`);
    return await lookUntilFine(progress, options, (probe) =>
      lookAt(kube, { isBeforeInstallation: options.pre === true, probe }),
    );
  } finally {
    await kube.close();
  }
}

/** A probe starts pods, so it comes once: with the last look. */
export async function lookUntilFine(
  progress: Pick<Progress, "step">,
  { wait, probe = false }: Pick<ClusterDoctorOptions, "wait" | "probe">,
  look: (probe: boolean) => Promise<Result>,
): Promise<Result> {
  if (wait === undefined) return look(probe);
  const deadline = Date.now() + wait * 1000;
  for (;;) {
    const result = await look(false);
    if (result.exitCode === EXIT.fine || Date.now() >= deadline) return probe ? look(true) : result;
    progress.step("not yet; looking again");
    await delay(PAUSE_MS);
  }
}

/** @throws Failure, with exit code 2 */
export async function loadAccess({
  kubeconfig,
  context,
}: Pick<ClusterDoctorOptions, "kubeconfig" | "context">): Promise<KubeconfigAccess> {
  try {
    return await loadKubeconfig({ ...(kubeconfig && { path: kubeconfig }), ...(context && { context }) });
  } catch (cause) {
    throw new Failure(cause instanceof Error ? cause.message : "the kubeconfig cannot be used", {
      kind: "target",
      exitCode: EXIT.unread,
      next: "set KUBECONFIG, or give --kubeconfig and --context",
      cause,
    });
  }
}

/** Without an answer nothing can be looked at, and each check would say so. @throws Failure, with exit code 2 */
export async function requireAnswer(kube: KubeClient, context: string): Promise<void> {
  try {
    await kube.raw("GET", "/version", undefined, { deadlineMs: 10_000 });
  } catch (cause) {
    throw new Failure(`${context}: ${cause instanceof Error ? cause.message : "no answer"}`, {
      kind: "unreachable",
      exitCode: EXIT.unread,
      next: `kubectl --context ${context} get --raw /version shows whether Kubernetes answers you`,
      cause,
    });
  }
}

/** Reads and judges once. */
export async function lookAt(
  kube: KubeClient,
  { isBeforeInstallation, probe }: { isBeforeInstallation: boolean; probe: boolean },
): Promise<Result> {
  const signal = AbortSignal.timeout(probe ? PROBE_DEADLINE_MS : READ_DEADLINE_MS);
  const readings = await readFacts(kube, { isBeforeInstallation, probe, signal, now: Date.now, resolve: resolveName });
  return present(judgeFacts(readings), kube.server);
}

/** By the resolver of this machine, its hosts file included. */
async function resolveName(name: string): Promise<string[]> {
  const late = new AbortController();
  try {
    const found = await Promise.race([
      lookup(name, { all: true }),
      delay(RESOLVE_DEADLINE_MS, undefined, { signal: late.signal }),
    ]);
    return found?.map(({ address }) => address) ?? [];
  } finally {
    late.abort();
  }
}

function findingsOf(groups: readonly JudgedGroup[]): Finding[] {
  return groups.flatMap(({ judged }) => judged.flatMap(({ findings }) => findings));
}

function countOf(groups: readonly JudgedGroup[], severity: Finding["severity"]): number {
  return findingsOf(groups).filter((finding) => finding.severity === severity).length;
}

/** Pure. */
export function present(groups: readonly JudgedGroup[], server: string): Result {
  const unread = groups
    .flatMap(({ judged }) => judged)
    .flatMap(({ check, unread: why }) => (why === undefined ? [] : [{ code: check.code, why }]));
  const [problems, notes] = [countOf(groups, "problem"), countOf(groups, "note")];
  return {
    exitCode: problems > 0 ? EXIT.problem : unread.length > 0 ? EXIT.unread : EXIT.fine,
    json: {
      version: cupolaVersion(),
      server,
      checked: groups.flatMap(({ judged }) => judged.map(({ check }) => check.code)),
      problems,
      notes,
      findings: findingsOf(groups),
      unread,
    },
    text: [...groups.flatMap(presentGroup), summaryOf({ problems, notes, unread: unread.length })],
  };
}

const MARKS = {
  fine: stdoutColours.green("✓"),
  note: stdoutColours.yellow("!"),
  problem: stdoutColours.red("✗"),
  unread: stdoutColours.yellow("?"),
} as const;

function presentGroup({ title, judged }: JudgedGroup): string[] {
  return [stdoutColours.bold(title), ...judged.flatMap(presentJudged), ""];
}

function presentJudged({ check, findings, unread }: Judged): string[] {
  if (unread !== undefined) return [`${MARKS.unread} ${check.code}  could not look: ${unread}`];
  if (findings.length === 0) return [`${MARKS.fine} ${check.code}  ${check.title}`];
  return findings.flatMap(({ severity, code, what, where, next }) => [
    `${MARKS[severity]} ${code}  ${what}`,
    ...(where.length > 0 ? [`       ${where.join(", ")}`] : []),
    `       Next: ${next}`,
  ]);
}

function summaryOf({ problems, notes, unread }: { problems: number; notes: number; unread: number }): string {
  const parts = [
    ...(problems > 0 ? [`${problems} to mend, marked ✗`] : []),
    ...(notes > 0 ? [`${notes} to know, marked !`] : []),
    ...(unread > 0 ? [`${unread} could not be looked at, marked ?`] : []),
  ];
  return parts.length === 0 ? "Nothing is wrong." : `${parts.join("; ")}. docs/operate/doctor.md explains each number.`;
}
