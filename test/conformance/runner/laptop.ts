// The embedded API server with our kinds and one space: where runners work that start processes of this machine.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import type { BackendRole } from "../../../crds/backend-class/find-class.ts";
import { LABELS } from "../../../crds/labels.ts";
import type { LrpInstance } from "../../../crds/lrp/lrp.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { Namespace } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import type { TokenUser } from "../../cluster/control-plane-commands.ts";
import { startEmbedded } from "../embedded-server.ts";
import type { RunnerEnvironment } from "./environment.ts";

export const SPACE = { guid: "space-guid", name: "space" };
const NAMESPACE = "runners";

export interface Laptop {
  url: string;
  ca: string;
  client: KubeClient;
  namespace: string;
  stop(): Promise<void>;
}

/** Starts it with this BackendClass. `users` are known by their tokens. */
export async function startLaptop(
  { className, role }: { className: string; role: BackendRole },
  users: readonly TokenUser[],
): Promise<Laptop> {
  const server = await startEmbedded({ users });
  const { url, ca, adminToken } = server;
  const client = createClient({ server: url, ca, auth: { kind: "token", token: adminToken } });
  await installManifests(client);
  await applyObjects(client, [systemObject(BackendClass, className, { role })]);
  await client.create(Namespace, {
    metadata: { name: NAMESPACE, labels: { [LABELS.namespaceKind]: "space", [LABELS.space]: SPACE.guid } },
  });
  return {
    url,
    ca,
    client,
    namespace: NAMESPACE,
    async stop() {
      await client.close();
      await server.stop();
    },
  };
}

/** The probe app's program. */
export function readProbe(): Promise<Buffer> {
  return readFile(join(import.meta.dirname, "probe", "probe.mjs"));
}

/** Asks an instance at the address in its status. */
export const requestByAddress: RunnerEnvironment["request"] = async (instance: LrpInstance, port, path) => {
  const { hostPort } = instance.ports?.find((each) => each.port === port) ?? {};
  if (instance.host === undefined || hostPort === undefined)
    throw new Error(`the status has no address for port ${port}: ${JSON.stringify(instance)}`);
  const response = await fetch(`http://${instance.host}:${hostPort}${path}`, { signal: AbortSignal.timeout(5000) });
  return { status: response.status, body: await response.text() };
};
