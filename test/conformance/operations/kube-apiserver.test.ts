// Every operation in a process of its own, as its own ServiceAccount under exactly the generated role, on a real kube-apiserver: nothing is refused.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  Ingress,
  Job,
  Lease,
  Pod,
  Role,
  RoleBinding,
  ServiceAccount,
  StatefulSet,
  SubjectAccessReview,
} from "../../../kube/api/builtin.ts";
import type { RequestRecord } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { AuditLog } from "../../../crds/audit-log/audit-log.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { CONSTRAINTS_GROUP, SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Replica } from "../../../crds/replica/replica.ts";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { OPERATIONS, type Operation } from "../../../platform/operations/operations.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { serviceAccountName, listOperationManifests } from "../../../platform/operations/permissions.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { applyDNSEndpointAPI } from "../../cluster/dns-endpoint-api.ts";
import { applyGatewayAPI } from "../../cluster/gateway-api.ts";
import { applyKpackAPI } from "../../cluster/kpack-api.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { apiAt, type Api, type Named } from "../../e2e/support/api.ts";
import { eventually } from "../../eventually.ts";
import { createWorkloads } from "./workloads.ts";

const reason = whyNoControlPlane();
if (reason) console.log(`rights per operation: skipped, ${reason}`);
const all = Object.keys(OPERATIONS) as Operation[];
const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const REFS: Record<string, ResourceRef> = { ServiceAccount, ClusterRole, ClusterRoleBinding, Role, RoleBinding };
const IMAGE = "registry.example.org/shop@sha256:0000000000000000000000000000000000000000000000000000000000000000";

describe.skipIf(reason)("rights per operation", () => {
  let plane: ControlPlane;
  let admin: KubeClient;
  let api: Api;
  const home = mkdtempSync(join(tmpdir(), "cupola-operations-"));
  const running = new Map<Operation, RunningPlatform>();
  /** Refused requests, by operation. */
  const refused: string[] = [];

  beforeAll(async () => {
    plane = await startControlPlane();
    admin = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
    await Promise.all([
      installManifests(admin),
      applyGatewayAPI(admin),
      applyKpackAPI(admin),
      applyDNSEndpointAPI(admin),
    ]);
    for (const object of listOperationManifests())
      await admin.apply(REFS[object.kind] as ResourceRef, object, { fieldManager: "person", force: true });
    await applyObjects(admin, [
      systemObject(BackendClass, "deployment", { role: "runner", default: true }),
      systemObject(BackendClass, "ingress", { role: "router", default: true }),
      systemObject(BackendClass, "process", { role: "runner" }),
      systemObject(BackendClass, "statefulset", { role: "runner" }),
      systemObject(BackendClass, "job", { role: "task-runner" }),
      systemObject(BackendClass, "host", { role: "builder", default: true }),
      systemObject(BackendClass, "local", { role: "router" }),
      systemObject(Domain, "apps.example.org", { name: "apps.example.org" }),
    ]);
    await Promise.all(all.map(async (operation) => void running.set(operation, await start(operation))));
    api = apiAt(running.get("api")?.url ?? "", plane.adminToken);
  }, 180_000);

  afterAll(async () => {
    await Promise.all([...running.values()].map((platform) => platform.stop({ instances: "end" })));
    await admin?.close();
    await plane?.stop();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  async function start(operation: Operation): Promise<RunningPlatform> {
    const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/${serviceAccountName(operation)}/token`;
    const { status } = (await admin.raw("POST", path, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {},
    })) as { status: { token: string } };
    const onRequest = ({ method, path: at, code }: RequestRecord): void => {
      // A namespace that is being deleted takes no more audit events; that others are written is seen at the end.
      if (code === 403 && !at.includes("/namespaces/acme-dev/auditlogs"))
        refused.push(`${operation}: ${method} ${at.split("?")[0]}`);
    };
    return startPlatform({
      access: { server: plane.url, ca: plane.ca, auth: { kind: "token", token: status.token } },
      operations: [operation],
      data: home,
      listen: { host: "127.0.0.1", port: 0 },
      publicURL: "https://api.example.org",
      log,
      onRequest,
      shutdown: { drainMs: 0 },
    });
  }

  async function makeSpace(name: string): Promise<{ org: Named; space: Named }> {
    const org = await api.call("POST", "/v3/organizations", { name });
    return {
      org,
      space: await api.call("POST", "/v3/spaces", {
        name: "dev",
        relationships: { organization: { data: { guid: org.guid } } },
      }),
    };
  }

  test("every operation is ready, sees all that it wants to see, and is in the cluster", async () => {
    // The webhook is ready before its certificates are.
    for (const [operation, platform] of running)
      await eventually(() =>
        expect({ operation, ...platform.health() }).toEqual({ operation, ready: true, pending: [], degraded: [] }),
      );
    await eventually(async () => {
      const replicas = (await admin.list(Replica, { namespace: SYSTEM_NAMESPACE })).items;
      expect(replicas.map(({ spec }) => spec.operations.join()).sort()).toEqual([...all].sort());
      expect(replicas.flatMap(({ status }) => status?.parked ?? [])).toEqual([]);
      expect(replicas.flatMap(({ status }) => status?.leads ?? []).sort()).toEqual([
        "leader-controllers",
        "leader-host-builder",
        "leader-instance-index",
        "leader-local-router",
        "leader-log-drains",
        "leader-policies",
        "leader-process-runner",
      ]);
    });
  });

  test("an org, a space and an app come, run, change and go, and nothing is refused", async () => {
    const { org, space } = await makeSpace("acme");
    await api.call("POST", "/v3/roles", {
      type: "organization_user",
      relationships: { user: { data: { guid: "mia" } }, organization: { data: { guid: org.guid } } },
    });
    await api.call("POST", "/v3/roles", {
      type: "organization_manager",
      relationships: { user: { data: { guid: "mia" } }, organization: { data: { guid: org.guid } } },
    });
    await api.call("POST", "/v3/roles", {
      type: "space_developer",
      relationships: { user: { data: { guid: "mia" } }, space: { data: { guid: space.guid } } },
    });
    const app = await api.call("POST", "/v3/apps", {
      name: "shop",
      lifecycle: { type: "docker", data: {} },
      environment_variables: { COLOUR: "blue" },
      relationships: { space: { data: { guid: space.guid } } },
    });
    const pkg = await api.call("POST", "/v3/packages", {
      type: "docker",
      data: { image: IMAGE, username: "u", password: "p" },
      relationships: { app: { data: { guid: app.guid } } },
    });
    await eventually(async () =>
      expect(await api.call<{ state: string }>("GET", `/v3/packages/${pkg.guid}`)).toMatchObject({ state: "READY" }),
    );
    const build = await api.call("POST", "/v3/builds", { package: { guid: pkg.guid } });
    const droplet = await eventually(async () => {
      const found = await api.call<{ state: string; droplet: Named | null }>("GET", `/v3/builds/${build.guid}`);
      expect(found).toMatchObject({ state: "STAGED" });
      return found.droplet?.guid;
    });
    await api.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, { data: { guid: droplet } });
    // A Domain is listed once the controllers have claimed its name.
    const domain = await eventually(async () => {
      const [found] = (await api.call<{ resources: Named[] }>("GET", "/v3/domains")).resources;
      expect(found).toBeDefined();
      return found;
    });
    const route = await api.call("POST", "/v3/routes", {
      host: "shop",
      relationships: { space: { data: { guid: space.guid } }, domain: { data: { guid: domain?.guid } } },
    });
    await api.call("POST", `/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid: app.guid } }] });
    await api.call("POST", `/v3/apps/${app.guid}/actions/start`);
    const namespace = "acme-dev";
    await eventually(async () =>
      expect([
        (await admin.list(Deployment, { namespace })).items.length,
        (await admin.list(Ingress, { namespace })).items.length,
      ]).toEqual([1, 1]),
    );
    await api.call("PATCH", `/v3/apps/${app.guid}/environment_variables`, { var: { COLOUR: "red" } });
    await api.call("POST", `/v3/apps/${app.guid}/actions/restart`);
    await eventually(async () =>
      expect((await admin.list(LRP, { namespace })).items.map(({ spec }) => spec.revision)).toContain("2"),
    );
    await api.call("DELETE", `/v3/apps/${app.guid}`);
    await api.call("DELETE", `/v3/organizations/${org.guid}`);
    await eventually(async () => expect((await api.send("GET", `/v3/organizations/${org.guid}`)).status).toBe(404));
    expect((await admin.list(AuditLog, { namespace: SYSTEM_NAMESPACE })).items).not.toEqual([]);
    expect(refused).toEqual([]);
  }, 150_000);

  test("a task and the instances of a StatefulSet come and go, and nothing is refused", async () => {
    const namespace = "workloads";
    await createWorkloads(admin, namespace, IMAGE);
    await eventually(async () => {
      const pods = (await admin.list(Pod, { namespace })).items.map(({ metadata: { labels } }) => labels);
      // The runner has copied the index of the StatefulSet's pods.
      expect(pods.map((labels) => labels?.[LABELS.instanceIndex]).sort()).toEqual(["0", "1", undefined]);
      expect((await admin.get(TaskRun, { namespace, name: "task" })).status?.state).toBe("Pending");
    });
    await admin.patch(
      LRP,
      { namespace, name: "lrp" },
      { type: "merge", body: { spec: { restartInstances: { "1": "again" } } } },
    );
    await eventually(async () => {
      const { status } = await admin.get(LRP, { namespace, name: "lrp" });
      expect(status?.instances?.[1]?.restart).toBe("again");
    });
    const made: readonly ResourceRef[] = [TaskRun, LRP];
    for (const ref of made)
      for (const { metadata } of (await admin.list(ref, { namespace })).items) await admin.delete(ref, metadata);
    await eventually(async () => {
      for (const ref of [...made, Job, StatefulSet, Pod])
        expect((await admin.list(ref, { namespace })).items.map(({ metadata }) => metadata.name)).toEqual([]);
    }, 60_000);
    expect(refused).toEqual([]);
  }, 120_000);

  test("a role gives nothing that it does not name", () => {
    const rules = listOperationManifests().flatMap(
      (object) =>
        (object["rules"] ?? []) as {
          apiGroups: string[];
          resources: string[];
          verbs: string[];
          resourceNames?: string[];
        }[],
    );
    expect(rules.length).toBeGreaterThan(20);
    // Kinds of constraints are made at run time.
    const named = rules.filter(({ apiGroups }) => apiGroups.join() !== CONSTRAINTS_GROUP);
    expect(
      named.filter(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs].includes("*")),
    ).toEqual([]);
    expect(rules.filter(({ verbs }) => verbs.includes("escalate") || verbs.includes("impersonate"))).toEqual([]);
    expect(rules.filter(({ verbs, resourceNames }) => verbs.includes("bind") && !resourceNames?.length)).toEqual([]);
  });

  test("Secrets are open in spaces only, and no other namespace's, not even all of the platform's own", async () => {
    await makeSpace("vault");
    const may = async (operation: Operation, namespace: string, name: string): Promise<boolean> => {
      const user = `system:serviceaccount:${SYSTEM_NAMESPACE}:${serviceAccountName(operation)}`;
      const review = await admin.review(SubjectAccessReview, {
        spec: { user, resourceAttributes: { verb: "get", resource: "secrets", namespace, name } },
      });
      return review.status?.allowed ?? false;
    };
    await eventually(async () => expect(await may("api", "vault-dev", "shop-env")).toBe(true));
    await eventually(async () => expect(await may("controllers", "vault-dev", "shop-env")).toBe(true));
    for (const operation of all)
      for (const namespace of ["kube-system", "default", "vault", SYSTEM_NAMESPACE])
        expect({ operation, namespace, may: await may(operation, namespace, "anybody's") }).toEqual({
          operation,
          namespace,
          may: false,
        });
    expect(await may("ingress-router", "vault-dev", "shop-env")).toBe(false);
  });

  test("a missing right is named, and comes back by itself; the process serves on", async () => {
    await makeSpace("closed");
    const name = serviceAccountName("ingress-router");
    const role = await admin.get(ClusterRole, { name });
    await running.get("ingress-router")?.stop({ instances: "keep" });
    await admin.patch(
      ClusterRole,
      { name },
      {
        type: "merge",
        body: { rules: (role.rules ?? []).filter(({ resources }) => !resources?.includes("ingresses")) },
      },
    );
    running.set("ingress-router", await start("ingress-router"));
    const parked = async (): Promise<{ resource: string }[]> =>
      (await admin.list(Replica, { namespace: SYSTEM_NAMESPACE })).items
        .filter(({ spec }) => spec.operations.includes("ingress-router"))
        .flatMap(({ status }) => status?.parked ?? []);
    await eventually(async () =>
      expect(await parked()).toContainEqual({
        resource: "ingresses.networking.k8s.io",
        namespace: "closed-dev",
        reason: "Forbidden",
      }),
    );
    expect((await parked()).filter(({ resource }) => resource !== "ingresses.networking.k8s.io")).toEqual([]);
    expect(running.get("ingress-router")?.health()).toMatchObject({
      ready: true,
      degraded: [{ name: "controllers", reason: expect.stringContaining("ingresses.networking.k8s.io") as string }],
    });
    await admin.patch(ClusterRole, { name }, { type: "merge", body: { rules: role.rules } });
    await eventually(async () => expect(await parked()).toEqual([]));
    expect(running.get("ingress-router")?.health()).toEqual({ ready: true, pending: [], degraded: [] });
  }, 90_000);

  test("a process that stops takes its Leases and its object with it", async () => {
    await running.get("local-router")?.stop({ instances: "keep" });
    running.delete("local-router");
    const holders = (await admin.list(Lease, { namespace: SYSTEM_NAMESPACE })).items.filter(
      ({ metadata }) =>
        metadata.name === "leader-local-router" || metadata.annotations?.["cupola.dev/operations"] === "local-router",
    );
    expect(holders.map(({ metadata, spec }) => [metadata.name, spec?.holderIdentity])).toEqual([
      ["leader-local-router", ""],
    ]);
  });
});
