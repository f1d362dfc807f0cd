// The platform on a real control plane, as an operator runs it: manifests applied, one `cupola` process, a kubeconfig for its users.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import type { TokenUser } from "../../cluster/control-plane-commands.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";

const DOMAIN = "apps.example.org";
const ENTRY = join(import.meta.dirname, "..", "..", "..", "platform", "cupola.ts");

export interface ClusterPlatform {
  plane: Cluster;
  /** As a member of system:masters. */
  admin: KubeClient;
  url: string;
  home: string;
  kubeconfig: string;
  stop(): Promise<void>;
}

/** Settings as Helm values would give them. */
function settings(): KubeObject[] {
  return [
    systemObject(BackendClass, "deployment", { role: "runner", default: true }),
    systemObject(BackendClass, "ingress", { role: "router", default: true }),
    systemObject(Domain, DOMAIN, { name: DOMAIN }),
  ];
}

/** Known to the cluster, so that the platform may use it. */
export const PLATFORM_USER: TokenUser = { token: "platform-token", user: "cupola", groups: [PLATFORM_GROUP] };

/** Needs of the platform of a cluster. */
type Cluster = Pick<ControlPlane, "url" | "ca" | "adminToken" | "stop"> &
  Partial<Pick<ControlPlane, "restartControllers">>;

/** Starts a cluster, which knows `PLATFORM_USER`, and the platform on it. A control plane without nodes unless said. */
export async function startClusterPlatform(
  operations: string,
  startCluster: () => Promise<Cluster> = () => startControlPlane({ users: [PLATFORM_USER] }),
): Promise<ClusterPlatform> {
  const plane = await startCluster();
  const home = mkdtempSync(join(tmpdir(), "cupola-cluster-"));
  const admin = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
  await installManifests(admin);
  await plane.restartControllers?.();
  await applyObjects(admin, settings());
  const kubeconfig = join(home, "kubeconfig");
  const access = { server: plane.url, ca: plane.ca };
  writeFileSync(kubeconfig, kubeconfigText({ ...access, users: [{ name: "admin", token: plane.adminToken }] }));
  const own = join(home, "platform-kubeconfig");
  writeFileSync(own, kubeconfigText({ ...access, users: [{ name: "cupola", token: PLATFORM_USER.token }] }));
  const child = spawn(
    process.execPath,
    [ENTRY, `--operation=${operations}`, "--kubeconfig", own, "--port", "0", "--data", join(home, "data")],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const url = await readUrl(child);
  await untilDomainServes(admin);
  return {
    plane,
    admin,
    url,
    home,
    kubeconfig,
    async stop() {
      child.kill("SIGTERM");
      await Promise.race([once(child, "exit"), new Promise((resolve) => setTimeout(resolve, 10_000).unref())]);
      child.kill("SIGKILL");
      await admin.close();
      await plane.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** As an operator would by `kubectl wait`: the API server learns of new rights in its own time, and the domain is in force only once its name is claimed. */
async function untilDomainServes(admin: KubeClient): Promise<void> {
  await eventually(async () => {
    const domain = await admin.get(Domain, { namespace: SYSTEM_NAMESPACE, name: DOMAIN });
    const ready = domain.status?.conditions?.find((condition) => condition.type === "Ready");
    if (ready?.status !== "True")
      throw new Error(`domain ${DOMAIN} is not ready: ${ready?.message ?? "no condition yet"}`);
  });
}

/** The first line of the process says where it is. */
async function readUrl(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error("the platform has no output");
  for await (const line of createInterface(child.stdout)) return (JSON.parse(line) as { url: string }).url;
  throw new Error("the platform ended before it was ready");
}
