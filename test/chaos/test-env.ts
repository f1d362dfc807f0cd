// The world of all runs: one control plane, the faulty proxy before it, three replicas of the platform, and somebody who plays the node.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { PLATFORM_GROUP } from "../../crds/platform-role.ts";
import { systemObject } from "../../crds/settings-object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { applyObjects, installManifests } from "../../platform/install.ts";
import { startControlPlane, type ControlPlane } from "../cluster/control-plane.ts";
import { type FaultyProxy, startFaultyProxy } from "./faulty-proxy.ts";
import { startFakeKubelet } from "./fake-kubelet.ts";
import { createReplicas, type Replicas } from "./replicas.ts";
import { REPLICAS } from "./schedule.ts";

export const DOMAIN = "apps.example.org";
export const DEVELOPER = { token: "developer-token", user: "developer" };

export interface ChaosEnv {
  plane: ControlPlane;
  /** Straight at kube-apiserver, as a member of system:masters. */
  kube: KubeClient;
  proxy: FaultyProxy;
  replicas: Replicas;
  /** Prefixes of runs that are over. */
  finishedRuns: Set<string>;
  /** Logs and data. */
  dir: string;
  stop(): Promise<void>;
}

export interface ChaosEnvOptions {
  /** Its folder stays for somebody to read. */
  keep: boolean;
  /** Operations of the replicas. */
  operations?: string;
  /** After so long another replica takes over from one that was killed. */
  leaseSeconds?: number;
}

/** Starts all of it. */
export async function startChaosEnv(options: ChaosEnvOptions): Promise<ChaosEnv> {
  const disposables = new AsyncDisposableStack();
  try {
    return await start(disposables, options);
  } catch (error) {
    await disposables.disposeAsync();
    throw error;
  }
}

async function start(
  disposables: AsyncDisposableStack,
  { keep, operations = "api,controllers,deployment-runner,ingress-router", leaseSeconds }: ChaosEnvOptions,
): Promise<ChaosEnv> {
  const dir = mkdtempSync(join(tmpdir(), "cupola-chaos-"));
  if (!keep) disposables.defer(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  mkdirSync(join(dir, "data"));
  const plane = await startControlPlane({
    users: [{ token: "platform-token", user: "cupola", groups: [PLATFORM_GROUP] }, DEVELOPER],
    // Deployments are played, so nobody need make pods of them.
    controllerManagerFlags: ["--controllers=namespace-controller,garbage-collector-controller"],
  });
  disposables.defer(() => plane.stop());
  const kube = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
  disposables.defer(() => kube.close());
  await installManifests(kube);
  await applyObjects(kube, fixtures());
  await plane.restartControllers();
  const proxy = await startFaultyProxy(plane.url, plane.ca);
  disposables.defer(() => proxy.close());
  const replicas = await createReplicas(
    REPLICAS,
    {
      access: { server: proxy.url, ca: proxy.ca },
      token: "platform-token",
      data: join(dir, "data"),
      operations,
      ...(leaseSeconds !== undefined && { leaseSeconds }),
    },
    dir,
  );
  disposables.defer(() => replicas.stop());
  await replicas.startAll();
  const stopKubelet = startFakeKubelet(kube);
  disposables.defer(() => stopKubelet());
  return { plane, kube, proxy, replicas, finishedRuns: new Set(), dir, stop: () => disposables.disposeAsync() };
}

function fixtures(): KubeObject[] {
  return [
    systemObject(BackendClass, "deployment", { role: "runner", default: true }),
    systemObject(BackendClass, "ingress", { role: "router", default: true }),
    systemObject(Domain, DOMAIN, { name: DOMAIN }),
  ];
}
