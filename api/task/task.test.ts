// Commands of tasks may hold secrets, so only some roles read them.
import { expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { claimedNameOf } from "../../crds/claim/claimed-name.ts";
import { newClaim } from "../../crds/claim/rules.ts";
import { Task } from "../../crds/task/task.ts";
import { ClusterRole, RoleBinding } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { createLiveCache, type LiveCache } from "../access/testing/live-cache.ts";
import type { Endpoint, RequestContext } from "../routing/endpoint.ts";
import { taskEndpoints } from "./task.ts";

function addApp(live: LiveCache, namespace: string): void {
  const metadata = { name: "shop", namespace, uid: `app-${namespace}`, resourceVersion: "2" };
  const spec = { name: "shop", state: "Stopped", lifecycle: { type: "buildpack", buildpacks: [] } };
  const app = { apiVersion: "cupola.dev/v1alpha1", kind: "App", metadata, spec } as unknown as App;
  live.store(App).upsert(app);
  const name = claimedNameOf("App", app, () => undefined);
  if (!name) throw new Error("an app claims a name");
  const claim = newClaim(name, { kind: "App", namespace, name: "shop" }, new Date(0));
  live.store(Claim).upsert({ ...claim, metadata: { ...claim.metadata, uid: `claim-${namespace}` } });
}

function addTask(live: LiveCache, namespace: string): void {
  const metadata = { name: "job", namespace, uid: `task-${namespace}`, resourceVersion: "2" };
  const spec = { appRef: { name: "shop" }, command: `secret of ${namespace}` };
  live.store(Task).upsert({ kind: "Task", metadata, spec } as unknown as Task);
}

function bind(live: LiveCache, namespace: string, role: string, resources: readonly string[]): void {
  const rules = [{ apiGroups: ["cupola.dev"], resources, verbs: ["get"] }];
  const upsert = (ref: never, object: object): void => live.store(ref).upsert(object as never);
  upsert(ClusterRole as never, { kind: "ClusterRole", metadata: { name: role, uid: role }, rules } as object);
  upsert(
    RoleBinding as never,
    {
      kind: "RoleBinding",
      metadata: { name: role, namespace, uid: `${role}-${namespace}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "User", name: "ann" }],
    } as unknown as KubeObject,
  );
}

test("below an app, guids= shows no task of another app, whose commands the caller may not read", async () => {
  const live = createLiveCache();
  bind(live, "a", "developer", ["apps", "apps/secrets", "tasks"]);
  bind(live, "b", "auditor", ["apps", "tasks"]);
  for (const namespace of ["a", "b"]) {
    addApp(live, namespace);
    addTask(live, namespace);
  }
  const row = taskEndpoints.find(({ path }) => path === "/v3/apps/:guid/tasks") as Endpoint;
  const query = { page: 1, per_page: 50, guids: ["task-a", "task-b"] };
  const base = "http://api.example";
  const url = "/v3/apps/app-a/tasks?guids=task-a,task-b";
  const request = { session: live.session("ann"), params: { guid: "app-a" }, query, base, url };
  const { body } = await row.handler(request as unknown as RequestContext);
  const { resources } = JSON.parse(String(body)) as { resources: { guid: string; command?: string }[] };
  expect(resources.map(({ guid, command }) => [guid, command])).toEqual([["task-a", "secret of a"]]);
});
