// A seed: the load in calm, the load under faults, and whether both ended alike and in silence.
import { setTimeout as delay } from "node:timers/promises";
import { CF_ROLES } from "../../crds/roles.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { applyObjects } from "../../platform/install.ts";
import { RetryableError, retryUntilAcknowledged } from "./retry.ts";
import { createCfClient, type CfClient } from "./cf-client.ts";
import {
  diffLines,
  explainDifference,
  normalise,
  filterRunObjects,
  readCluster,
  findUnreconciled,
} from "./end-state.ts";
import type { Write } from "./faulty-proxy.ts";
import { injectFaults } from "./inject-faults.ts";
import { createKubectlClient } from "./kubectl-client.ts";
import { runWorkload, type Clients } from "./run-workload.ts";
import { type RunScope, createRunScope } from "./run-scope.ts";
import type { Schedule } from "./schedule.ts";
import { DEVELOPER, DOMAIN, type ChaosEnv } from "./test-env.ts";

/** How a run went. Alike and silent when `faults` is empty. */
export interface ChaosOutcome {
  seed: number;
  /** Lines for a person. */
  faults: string[];
  tookMs: number;
  /** Asks the org to go, and does not wait. */
  deleteOrg(): Promise<void>;
}

/** Inputs of a run from the calm one. */
export interface BaselineRun {
  lines: readonly string[];
  deleteOrg(): Promise<void>;
}

/** Longest wait for the end state after the faults are over. */
const CONVERGE_MS = 90_000;
/** Without a write for so long before silence is measured (a replica tells what has changed of itself after a second), and how long it is measured. */
const QUIET_MS = 1200;
const IDLE_MS = 1000;

interface RunContext {
  scope: RunScope;
  clients: Clients;
  developer: () => readonly KubeObject[];
  bindRoles(): Promise<void>;
}

function createRunContext(chaosEnv: ChaosEnv, prefix: string): RunContext {
  const { kube, replicas, plane } = chaosEnv;
  const scope = createRunScope(kube, prefix);
  const toCfClient = (token: string): CfClient =>
    createCfClient({ urls: replicas.urls, token, kube, scope, domain: DOMAIN });
  const clients: Clients = {
    admin: toCfClient(plane.adminToken),
    developer: toCfClient(DEVELOPER.token),
    kubectl: createKubectlClient(kube, scope, DOMAIN),
  };
  let bindings: readonly KubeObject[] = [];
  return {
    scope,
    clients,
    developer: () => bindings.slice(1),
    async bindRoles() {
      const binding = (namespace: string, clusterRole: string): KubeObject => ({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { name: "the-developer", namespace },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: DEVELOPER.user }],
      });
      bindings = [
        binding(await scope.orgNamespace(), CF_ROLES.organization_user.clusterRole),
        binding((await scope.space("dev")).namespace, CF_ROLES.space_developer.clusterRole),
      ];
      await retryUntilAcknowledged(`${prefix}: roles of the developer`, () => applyObjects(kube, bindings));
      await scope.space("ops");
    },
  };
}

/** The load without faults, and what it leads to. @throws Error when even that does not come to rest */
export async function runBaseline(chaosEnv: ChaosEnv, { seed, workload }: Schedule): Promise<BaselineRun> {
  const { scope, clients, bindRoles } = createRunContext(chaosEnv, `calm${seed}`);
  await runWorkload({ clients, sequences: workload, isPaced: false, bindRoles });
  const readReconciled = async (): Promise<readonly string[]> => {
    await waitUntilQuiet(chaosEnv);
    await chaosEnv.replicas.idle();
    const objects = filterRunObjects(await readCluster(chaosEnv.kube), scope.prefix);
    const [notReconciled] = findUnreconciled(objects);
    if (notReconciled) throw new RetryableError(notReconciled);
    return normalise(objects, scope.prefix);
  };
  const lines = await retryUntilAcknowledged(`${scope.prefix}: rest`, async () => {
    const before = await readReconciled();
    await delay(QUIET_MS);
    const after = await readReconciled();
    const { missing, surplus } = diffLines(before, after);
    if (missing.length + surplus.length > 0) throw new RetryableError(explainDifference(missing, surplus).join("\n"));
    return after;
  });
  return { lines, deleteOrg: () => deleteRunOrg(chaosEnv, scope, clients) };
}

/** The load under the faults of the schedule. Never throws for what the platform does. */
export async function runChaos(chaosEnv: ChaosEnv, schedule: Schedule, baseline: BaselineRun): Promise<ChaosOutcome> {
  const started = performance.now();
  const { scope, clients, bindRoles, developer } = createRunContext(chaosEnv, `wild${schedule.seed}`);
  const faults: string[] = [];
  const collectFault = async (what: () => Promise<unknown>): Promise<void> => {
    await what().catch((error: unknown) => faults.push(error instanceof Error ? error.message : String(error)));
  };
  const times: number[] = [];
  const recordTime = (): unknown => times.push(Math.round(performance.now() - started));
  await Promise.all([
    collectFault(() => runWorkload({ clients, sequences: schedule.workload, isPaced: true, bindRoles })).then(
      recordTime,
    ),
    collectFault(() => injectFaults(chaosEnv, schedule, developer)).then(recordTime),
  ]);
  if (faults.length === 0) await collectFault(() => waitForConvergence(chaosEnv, scope.prefix, baseline.lines));
  recordTime();
  if (faults.length === 0) faults.push(...(await countIdleWrites(chaosEnv)));
  recordTime();
  if (process.env["CHAOS_TIMES"]) console.log(times.join(" "));
  return {
    seed: schedule.seed,
    faults,
    tookMs: performance.now() - started,
    deleteOrg: () => deleteRunOrg(chaosEnv, scope, clients),
  };
}

/** Asks the org to go. What follows goes on behind the next runs. */
async function deleteRunOrg({ finishedRuns }: ChaosEnv, { prefix }: RunScope, { admin }: Clients): Promise<void> {
  finishedRuns.add(prefix);
  await admin.deleteOrg();
}

async function waitForConvergence(chaosEnv: ChaosEnv, prefix: string, wanted: readonly string[]): Promise<void> {
  const deadline = Date.now() + CONVERGE_MS;
  for (;;) {
    const { missing, surplus } = diffLines(
      wanted,
      normalise(filterRunObjects(await readCluster(chaosEnv.kube), prefix), prefix),
    );
    if (missing.length === 0 && surplus.length === 0) return;
    if (Date.now() > deadline)
      throw new Error(
        [`not as the calm run after ${CONVERGE_MS / 1000} s`, ...explainDifference(missing, surplus)].join("\n"),
      );
    await delay(200);
  }
}

/**
 * A claim that nobody bears lapses half a minute after it was made: that is time's doing, and no work of an idle platform. Nor is what is left of earlier runs,
 * nor the news that a watch has been opened anew, which was stalled and needed some seconds to notice.
 */
function isUnexpectedWrite({ finishedRuns }: ChaosEnv, { method, path }: Write): boolean {
  if (method === "DELETE" && path.includes("/claims/")) return false;
  if (/\/replicas\/[^/]+\/status/.test(path)) return false;
  return !/(calm|wild)\d+(?=-)/.exec(path)?.some((prefix) => finishedRuns.has(prefix));
}

async function waitUntilQuiet(chaosEnv: ChaosEnv): Promise<void> {
  const { proxy } = chaosEnv;
  const deadline = Date.now() + CONVERGE_MS;
  const last = (): number => proxy.writes.findLast((write) => isUnexpectedWrite(chaosEnv, write))?.atMs ?? 0;
  while (performance.now() - last() < QUIET_MS) {
    if (Date.now() > deadline)
      throw new Error(`writes go on for ${CONVERGE_MS / 1000} s: ${proxy.writes.slice(-5).map(describe).join(", ")}`);
    await delay(50);
  }
}

async function countIdleWrites(chaosEnv: ChaosEnv): Promise<string[]> {
  let writes = await listIdleWrites(chaosEnv);
  // The next leader records once what a killed leader has not recorded.
  if (writes.length > 0 && writes.every(({ path }) => path.includes("/auditlogs/")))
    writes = await listIdleWrites(chaosEnv);
  return writes.length > 0
    ? [`${writes.length} writes while idle: ${writes.slice(0, 10).map(describe).join(", ")}`]
    : [];
}

async function listIdleWrites(chaosEnv: ChaosEnv): Promise<Write[]> {
  await chaosEnv.replicas.idle();
  await waitUntilQuiet(chaosEnv);
  const before = chaosEnv.proxy.writes.length;
  await delay(IDLE_MS);
  return chaosEnv.proxy.writes.slice(before).filter((write) => isUnexpectedWrite(chaosEnv, write));
}

function describe({ method, path, code }: Write): string {
  return `${method} ${path.split("?")[0]} ${code}`;
}
