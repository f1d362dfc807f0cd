// Which deployments a list with filters shows after other Rollouts have changed.
import { expect, test } from "vitest";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { ClusterRole, RoleBinding } from "../../kube/api/builtin.ts";
import { createLiveCache, type LiveCache } from "../access/testing/live-cache.ts";
import type { Endpoint, RequestContext } from "../routing/endpoint.ts";
import { deploymentEndpoints } from "./deployment.ts";

function addRollout(live: LiveCache, name: string, second: number): void {
  const creationTimestamp = new Date(second * 1000).toISOString().replace(".000Z", "Z");
  const metadata = { name, namespace: "a", uid: name, resourceVersion: String(second), creationTimestamp };
  const spec = { appRef: { name: "shop" }, strategy: "rolling", maxInFlight: 1 };
  live.store(Rollout).upsert({ kind: "Rollout", metadata, spec } as unknown as Rollout);
}

function allowReading(live: LiveCache): void {
  const rules = [{ apiGroups: ["cupola.dev"], resources: ["rollouts"], verbs: ["get"] }];
  live.store(ClusterRole as never).upsert({ metadata: { name: "reader", uid: "reader" }, rules } as never);
  live.store(RoleBinding as never).upsert({
    metadata: { name: "dev", namespace: "a", uid: "dev" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
    subjects: [{ kind: "User", name: "dev" }],
  } as never);
}

test.each([
  ["states=DEPLOYING", { states: ["DEPLOYING"] }],
  ["status_values=ACTIVE", { status_values: ["ACTIVE"] }],
  ["status_reasons=DEPLOYING", { status_reasons: ["DEPLOYING"] }],
])("a deployment leaves the list by %s when a newer one supersedes it", async (text, filter) => {
  const live = createLiveCache();
  allowReading(live);
  const row = deploymentEndpoints.find(({ path, method }) => method === "GET" && path === "/v3/deployments");
  const url = `/v3/deployments?${text}`;
  const list = async (): Promise<string[]> => {
    const query = { page: 1, per_page: 50, ...filter };
    const request = { session: live.session("dev"), query, base: "http://api.example", url };
    const { body } = await (row as Endpoint).handler(request as unknown as RequestContext);
    return (JSON.parse(String(body)) as { resources: { guid: string }[] }).resources.map(({ guid }) => guid);
  };
  addRollout(live, "first", 1);
  expect(await list()).toEqual(["first"]);
  addRollout(live, "second", 2);
  expect(await list()).toEqual(["second"]);
});
