// The processes of a spoke that serve its logs, where no pods run: the way to them, and lines of apps that nobody has written.
import { HUB_LOGS_SERVICE } from "../../../crds/hub-account.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Lease, Pod, Secret, Service } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { REPLICA_ANNOTATIONS } from "../../../platform/leases/replica-membership.ts";
import { deriveAddressToken } from "../../../platform/peers/address-token.ts";
import { TELEMETRY_SECRET, tokenOf } from "../../../platform/telemetry/telemetry-secret.ts";
import { eventually } from "../../eventually.ts";

/** Leads the Service of the chart to a process of this machine instead of to pods. */
export async function leadToProcess(
  spoke: KubeClient,
  { address, port }: { address: string; port: number },
): Promise<void> {
  const key = { namespace: SYSTEM_NAMESPACE, name: HUB_LOGS_SERVICE };
  // Without a selector nobody else writes its endpoints.
  await spoke.patch(Service, key, { type: "merge", body: { spec: { selector: null } } });
  const pod = { namespace: SYSTEM_NAMESPACE, name: "played-logs" };
  // A Pod can be made once its ServiceAccount is there.
  await eventually(() =>
    spoke.create(Pod, { metadata: pod, spec: { containers: [{ name: "cupola", image: "none" }] } }),
  );
  // The proxy calls addresses of Pods only.
  const status = { podIP: address, podIPs: [{ ip: address }] };
  await spoke.patch(Pod, pod, { type: "merge", body: { status } }, { subresource: "status" });
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/endpoints/${HUB_LOGS_SERVICE}?fieldManager=test&force=true`;
  const endpoints = {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: HUB_LOGS_SERVICE },
    subsets: [{ addresses: [{ ip: address, targetRef: { kind: "Pod", ...pod } }], ports: [{ name: "https", port }] }],
  };
  await spoke.raw("PATCH", path, endpoints, { contentType: "application/apply-patch+yaml" });
}

/** Stores a line of an app at the replica that keeps its log. */
export async function pushLine(
  spoke: KubeClient,
  line: { source: string; instance: string; message: string },
): Promise<void> {
  const secret = tokenOf(await spoke.get(Secret, { namespace: SYSTEM_NAMESPACE, name: TELEMETRY_SECRET })) ?? "";
  const { items } = await spoke.list(Lease, { namespace: SYSTEM_NAMESPACE });
  const url = items.map(({ metadata }) => metadata.annotations?.[REPLICA_ANNOTATIONS.telemetry]).find(Boolean) ?? "";
  const entry = { ...line, sourceType: "APP/PROC/WEB", time: String(BigInt(Date.now()) * 1_000_000n) };
  const response = await fetch(`${url}/logs`, {
    method: "POST",
    headers: { authorization: `Bearer ${deriveAddressToken(secret, "telemetry", url)}` },
    body: JSON.stringify({ entries: [entry] }),
  });
  if (response.status !== 204) throw new Error(`${url} answered ${response.status}`);
}
