// Audit events: what each write leaves, who may read it, filters and order.
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AuditLog } from "../../../crds/audit-log/audit-log.ts";
import { Revision } from "../../../crds/revision/revision.ts";
import { recordOutsideWriters } from "../../../crds/audit-log/outside-writers.ts";
import { App } from "../../../crds/app/app.ts";
import { Build } from "../../../crds/build/build.ts";
import { Package } from "../../../crds/package/package.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { createInformers, type Informers } from "../../../kube/cache/informers.ts";
import { createWatchAudit, WATCH_AUDIT_KINDS } from "../../../platform/operations/watch-audit.ts";
import { createAuditWriter, type AuditWriter } from "../../../telemetry/audit/audit-writer.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { makeCatalog, SYSTEM } from "./managed-world.ts";
import { startScriptedBroker } from "./scripted-broker.ts";
import { shapeProblems } from "./response-shape.ts";
import type { Replica, TestUser } from "./test-env.ts";

let bench: ApiHarness;
let replica: Replica;
let audit: AuditWriter;
let informers: Informers;
let stopLeader: () => Promise<void>;
let space: { guid: string };
let app: { guid: string };
const call = async (method: string, path: string, body?: unknown, person: TestUser = "admin") => {
  const answer = await replica.call(person, method, path, body);
  expect([method, path, answer.status, answer.json.errors]).toEqual([method, path, expect.any(Number), undefined]);
  return answer.json;
};
/** The types of the events about a target, oldest first, once there are so many. */
async function typesOf(target: { guid: string }, count: number, person: TestUser = "admin"): Promise<string[]> {
  return eventually(async () => {
    const { resources } = await call("GET", `/v3/audit_events?target_guids=${target.guid}`, undefined, person);
    expect(resources).toHaveLength(count);
    return resources.map((event: { type: string }) => event.type);
  });
}
beforeAll(async () => {
  bench = await startApiHarness();
  await startLeader();
  audit = createAuditWriter({
    client: bench.testEnv.kube,
    writer: "api-0",
    log: pino({ level: "silent" }),
    intervalMs: 20,
  });
  replica = await bench.testEnv.replica("audited", { audit });
  const org = await call("POST", "/v3/organizations", { name: "org" });
  space = await call("POST", "/v3/spaces", { name: "space", relationships: { organization: to(org) } });
  app = await call("POST", "/v3/apps", {
    name: "shop",
    relationships: { space: to(space) },
    environment_variables: { KEY: "s3cret" },
  });
  for (const [type, place] of [
    ["organization_user", { organization: to(org) }],
    ["space_auditor", { space: to(space) }],
  ] as const)
    await call("POST", "/v3/roles", { type, relationships: { user: to("ann"), ...place } });
});
afterAll(async () => {
  await stopLeader();
  await informers.close();
  await audit.close();
  await bench.testEnv.stop();
});

/** Records what the watch sees, as the leader does. */
async function startLeader(): Promise<void> {
  const log = pino({ level: "silent" });
  informers = createInformers({ client: bench.testEnv.kube, log, transform: recordOutsideWriters });
  for (const ref of WATCH_AUDIT_KINDS) informers.ensure(ref);
  expect(await informers.waitSynced(30_000)).toBe(true);
  const abort = new AbortController();
  const watch = createWatchAudit({ informers, log, writer: "leader", deletionWaitMs: 4_000 });
  const ended = watch.start(abort.signal, bench.testEnv.kube);
  stopLeader = async () => {
    abort.abort();
    await ended;
  };
}

test("each write leaves an event with its actor, target and request, without secrets", async () => {
  await call("PATCH", `/v3/apps/${app.guid}`, { name: "store" });
  await call("POST", `/v3/apps/${app.guid}/processes/web/actions/scale`, { instances: 3 });
  await call("POST", `/v3/apps/${app.guid}/actions/stop`);
  expect(await typesOf(app, 4)).toEqual([
    "audit.app.create",
    "audit.app.process.create",
    "audit.app.update",
    "audit.app.process.scale",
  ]);
  const { resources } = await call("GET", `/v3/audit_events?target_guids=${app.guid}&order_by=created_at`);
  const [created] = resources;
  expect(shapeProblems("audit_event", created)).toEqual([]);
  expect(created).toMatchObject({
    actor: { guid: "admin", type: "user", name: "admin" },
    target: { guid: app.guid, type: "app", name: "shop" },
    space: { guid: space.guid },
    data: { request: { name: "shop", environment_variables: "[PRIVATE DATA HIDDEN]" } },
  });
  expect(await call("GET", `/v3/audit_events/${created.guid}`)).toEqual(created);
  expect(JSON.stringify((await bench.testEnv.kube.list(AuditLog)).items)).not.toContain("s3cret");
});

test("lists are filtered and ordered", async () => {
  const newest = (await call("GET", `/v3/audit_events?target_guids=${app.guid}&order_by=-created_at`)).resources[0];
  expect(newest.type).toBe("audit.app.process.scale");
  const list = async (query: string): Promise<string[]> =>
    (await call("GET", `/v3/audit_events?${query}`)).resources.map((event: { type: string }) => event.type);
  expect(await list("types=audit.space.create,audit.organization.create")).toEqual([
    "audit.organization.create",
    "audit.space.create",
  ]);
  expect(await list(`target_guids[not]=${app.guid}&space_guids=${space.guid}`)).toEqual([
    "audit.space.create",
    "audit.user.space_auditor_add",
  ]);
  expect(await list(`guids=${newest.guid}`)).toEqual([newest.type]);
  expect(fault(await replica.call("admin", "GET", "/v3/audit_events?nope=1"))[0]).toBe(400);
  expect(fault(await replica.call("admin", "GET", "/v3/audit_events/nope"))).toEqual([
    404,
    "CF-ResourceNotFound",
    "Event not found",
  ]);
});

test("an auditor of the space reads its events, a stranger none", async () => {
  expect(await typesOf(app, 4, "ann")).toContain("audit.app.create");
  expect((await call("GET", "/v3/audit_events", undefined, "bob")).resources).toEqual([]);
});

test("whoever reads the variables of a revision leaves an event", async () => {
  const spec = { appRef: { name: "shop" }, version: 1, release: 1, description: "x", dropletRef: { name: "d" } };
  const revision = await bench.testEnv.kube.create(Revision, {
    metadata: { name: "shop-1", namespace: "org-space" },
    spec: { ...spec, processes: [] },
  });
  const guid = revision.metadata.uid ?? "";
  await eventually(() => call("GET", `/v3/revisions/${guid}/environment_variables`));
  const { resources } = await eventually(async () => {
    const list = await call("GET", "/v3/audit_events?types=audit.app.revision.environment_variables.show");
    expect(list.resources).toHaveLength(1);
    return list;
  });
  expect(resources[0]).toMatchObject({
    target: { guid: app.guid },
    data: { revision_guid: guid, revision_version: 1 },
  });
});

const kubectl = { fieldManager: "kubectl-client-side-apply" };
interface Shown {
  type: string;
  actor: { name: string };
  data: object;
}
const eventsOf = async (target: string): Promise<Shown[]> =>
  (await call("GET", `/v3/audit_events?target_guids=${target}&per_page=200`)).resources;

test("what kubectl makes, changes and deletes has the same events, by its field manager; what the API does has one", async () => {
  const { kube } = bench.testEnv;
  const key = { namespace: "org-space", name: "by-kubectl" };
  const spec = { env: [{ name: "KEY", value: "s3cret" }] };
  const { metadata } = await kube.create(App, { metadata: key, spec }, kubectl);
  const guid = metadata.uid ?? "";
  const expectEvents = (expected: string[]): Promise<void> =>
    eventually(async () => {
      const events = await eventsOf(guid);
      expect(events.map(({ type, actor }) => `${type} ${actor.name}`)).toEqual(expected);
    }, 30_000);
  const made = "audit.app.create field manager kubectl-client-side-apply";
  await expectEvents([made]);
  await kube.patch(
    App,
    key,
    { type: "merge", body: { spec: { state: "Started" } } },
    { fieldManager: "kubectl-patch" },
  );
  const started = [made, "audit.app.start field manager kubectl-patch"];
  await expectEvents(started);
  const once = await call("POST", "/v3/apps", { name: "once", relationships: { space: to(space) } });
  await call("PATCH", `/v3/apps/${once.guid}`, { name: "once-more" });
  await call("DELETE", `/v3/apps/${once.guid}`);
  // A second event of that deletion would come before the one of this.
  await kube.delete(App, key);
  await expectEvents([...started, "audit.app.delete-request kubectl"]);
  const [created] = await eventsOf(guid);
  expect(created?.data).toMatchObject({ request: { env: "[PRIVATE DATA HIDDEN]" } });
  expect((await eventsOf(once.guid)).map(({ type }) => type)).toEqual([
    "audit.app.create",
    "audit.app.process.create",
    "audit.app.update",
    "audit.app.delete-request",
  ]);
});

test("an instance of a broker has events of the start and the end of its operations, by who asked", async () => {
  const broker = await startScriptedBroker();
  try {
    await makeCatalog(bench, broker);
    const plan = await bench.testEnv.kube.get(ServicePlan, { namespace: SYSTEM, name: "small" });
    const relationships = { space: to(space), service_plan: to(plan.metadata.uid ?? "") };
    const body = { type: "managed", name: "db", relationships };
    await eventually(async () =>
      expect((await replica.call("admin", "POST", "/v3/service_instances", body)).status).toBe(202),
    );
    const { resources } = await call("GET", "/v3/service_instances?names=db");
    const { guid } = resources[0];
    const expectEvents = (expected: string[]): Promise<void> =>
      eventually(async () => {
        const events = await eventsOf(guid);
        expect(events.map(({ type, actor }) => `${type} ${actor.name}`)).toEqual(expected);
      }, 30_000);
    const made = ["audit.service_instance.start_create admin", "audit.service_instance.create admin"];
    await expectEvents(made);
    await call("DELETE", `/v3/service_instances/${guid}`);
    await expectEvents([...made, "audit.service_instance.start_delete admin", "audit.service_instance.delete admin"]);
  } finally {
    await broker.stop();
  }
});

test("the end of a build is an event of who requested it", async () => {
  const { kube } = bench.testEnv;
  const metadata = { namespace: "org-space" };
  const appRef = { name: "shop" };
  await kube.create(Package, { metadata: { ...metadata, name: "p" }, spec: { appRef, type: "bits" } });
  const createdBy = { guid: "ann", name: "ann" };
  const build = await kube.create(Build, {
    metadata: { ...metadata, name: "b" },
    spec: { appRef, packageRef: { name: "p" }, createdBy },
  });
  await eventually(async () => {
    const current = await kube.get(Build, { ...metadata, name: "b" });
    const error = { code: "NoAppDetectedError", message: "no" };
    await kube.updateStatus(Build, { ...current, status: { ...current.status, state: "Failed", error } });
  }, 30_000);
  await eventually(async () => {
    const { resources } = await call("GET", "/v3/audit_events?types=audit.app.build.failed");
    expect(resources).toMatchObject([
      {
        actor: { guid: "ann", type: "user", name: "ann" },
        target: { guid: app.guid, type: "app" },
        data: { build_guid: build.metadata.uid, error_id: "NoAppDetectedError", error_message: "no" },
      },
    ]);
  }, 30_000);
});

test("an applied manifest is an event with the manifest, without secrets, and what it changed names it as the cause", async () => {
  const manifest = "applications:\n- name: by-manifest\n  env: { KEY: s3cret }\n  instances: 2\n";
  const path = `/v3/spaces/${space.guid}/actions/apply_manifest`;
  const authorization = "bearer admin-token";
  const headers = { "content-type": "application/x-yaml", authorization };
  expect((await replica.send("POST", path, { body: manifest, headers })).status).toBe(202);
  const resources = await eventually(async () => {
    const list = await call(
      "GET",
      "/v3/audit_events?types=audit.app.apply_manifest,audit.app.create&order_by=-created_at",
    );
    expect(list.resources[0]).toMatchObject({ type: "audit.app.apply_manifest", target: { name: "by-manifest" } });
    return list.resources;
  });
  expect(resources[0].data.request.manifest).toMatch(
    /name: by-manifest\n.*env: "\[PRIVATE DATA HIDDEN\]"\n.*instances: 2/s,
  );
  expect(resources[1]).toMatchObject({ target: { name: "by-manifest" }, data: { manifest_triggered: true } });
});

test("a read of events has all that the caller has just done", async () => {
  const log = pino({ level: "silent" });
  const slow = createAuditWriter({ client: bench.testEnv.kube, writer: "api-slow", log, intervalMs: 300 });
  const { call } = await bench.testEnv.replica("slow-events", { audit: slow });

  const made = await call("admin", "POST", "/v3/apps", { name: "first", relationships: { space: to(space) } });
  for (const name of ["second", "third"]) await call("admin", "PATCH", `/v3/apps/${made.json.guid}`, { name });
  const { json } = await call("admin", "GET", `/v3/audit_events?target_guids=${made.json.guid}&types=audit.app.update`);
  expect(json.resources.map(({ data }: { data: { request: object } }) => data.request)).toEqual([
    { name: "second" },
    { name: "third" },
  ]);
  await slow.close();
});
