// Pods of the doctor's probe where no kubelet runs: each pod's own command as a process of this machine, its outcome as the pod's last message.
// Files of Secrets are written where the process finds them. `pods.enforces` says whether the played network has NetworkPolicies.
import { execFile, type ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PROBE_LABEL, PROBE_PORTS } from "../../../cli/doctor/probe/probe-pods.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Pod, Secret } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { ignoreGone } from "../../../kube/client/ignore-gone.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** A loopback address that nobody else uses. */
const ADDRESS = "127.84.71.72";
const POLL_MS = 200;

type PodSpec = NonNullable<ObjectOf<typeof Pod>["spec"]>;

export interface PlayedPods {
  enforces: boolean;
  stop(): Promise<void>;
}

export function playPods(admin: KubeClient, folder: string): PlayedPods {
  const running = new Map<string, ChildProcess>();
  const abort = new AbortController();
  const pods: PlayedPods = {
    enforces: true,
    async stop() {
      abort.abort();
      await playing;
      for (const child of running.values()) child.kill("SIGKILL");
    },
  };
  const play = async (): Promise<void> => {
    while (!abort.signal.aborted) {
      const { items } = await admin.list(Pod, { namespace: SYSTEM_NAMESPACE, labelSelector: PROBE_LABEL });
      for (const [name, child] of running)
        if (!items.some(({ metadata }) => metadata.name === name)) {
          child.kill("SIGKILL");
          running.delete(name);
        }
      for (const pod of items)
        if (!running.has(pod.metadata.name))
          running.set(pod.metadata.name, await startPod({ admin, folder, pods }, pod));
      await delay(POLL_MS, undefined, { signal: abort.signal }).catch(() => undefined);
    }
  };
  const playing = play();
  return pods;
}

async function startPod(
  { admin, folder, pods }: { admin: KubeClient; folder: string; pods: PlayedPods },
  { metadata: { name }, spec }: ObjectOf<typeof Pod>,
): Promise<ChildProcess> {
  const { containers } = spec ?? { containers: [] };
  const [container] = containers;
  const result = join(folder, `${name}.json`);
  const mounted = await mountSecrets(admin, join(folder, name), { containers, ...spec });
  const [role = "", ...args] = (container?.args ?? []).map(mounted);
  const more = role === "listen" ? [`--host=${ADDRESS}`] : [`--result=${result}`];
  const played = role === "listen" && pods.enforces ? args.map(closePort) : args;
  const command = [...(container?.command ?? []).slice(1), role, ...played, ...more];
  const child = execFile(process.execPath, command, { cwd: ROOT, timeout: 120_000 }, (error, _stdout, stderr) => {
    void setStatus(admin, name, {
      phase: error ? "Failed" : "Succeeded",
      containerStatuses: [endedContainer(error ? stderr.slice(-1000) : readFileSync(result, "utf8"))],
    });
  });
  await setStatus(admin, name, { phase: "Running", podIP: ADDRESS, podIPs: [{ ip: ADDRESS }] });
  return child;
}

/** As the network would close it. */
function closePort(arg: string): string {
  return arg.replace(`,${PROBE_PORTS.closed}`, "");
}

function endedContainer(message: string): Record<string, unknown> {
  const terminated = { exitCode: 0, message, reason: "Completed" };
  return {
    name: "probe",
    image: "i",
    imageID: "i",
    ready: false,
    restartCount: 0,
    state: { terminated },
    lastState: {},
  };
}

async function setStatus(admin: KubeClient, name: string, status: Record<string, unknown>): Promise<void> {
  const key = { namespace: SYSTEM_NAMESPACE, name };
  await ignoreGone(admin.patch(Pod, key, { type: "merge", body: { status } }, { subresource: "status" }));
}

/** Writes the Secrets of the volumes, and returns what turns paths of the pod into those of this machine. */
async function mountSecrets(
  admin: KubeClient,
  folder: string,
  { volumes = [], containers }: PodSpec,
): Promise<(text: string) => string> {
  const paths = new Map<string, string>();
  for (const { name, mountPath } of containers[0]?.volumeMounts ?? []) {
    const here = join(folder, name);
    await writeSecret(admin, here, volumes.find((volume) => volume.name === name)?.secret?.secretName);
    paths.set(mountPath, here);
  }
  return (text) => [...paths].reduce((all, [there, here]) => all.replace(there, here), text);
}

async function writeSecret(admin: KubeClient, folder: string, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const { data = {} } = await admin.get(Secret, { namespace: SYSTEM_NAMESPACE, name });
  mkdirSync(folder, { recursive: true });
  for (const [key, value] of Object.entries(data)) writeFileSync(join(folder, key), Buffer.from(value, "base64"));
}
