// Service instances shared between spaces, by the CF API and by kubectl: who sees them, who binds them, and their end in a space.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { Space } from "../../../crds/space/space.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { makeCatalog, SYSTEM } from "./managed-world.ts";
import { startScriptedBroker, type ScriptedBroker } from "./scripted-broker.ts";

interface Made {
  guid: string;
  name: string;
}

const INSTANCES = "/v3/service_instances";
const BINDINGS = "/v3/service_credential_bindings";
let bench: ApiHarness;
let broker: ScriptedBroker;
let org: Made;
let home: Made;
/** bob develops here only, ann here and at home. */
let other: Made;
beforeAll(async () => {
  [bench, broker] = [await startApiHarness(), await startScriptedBroker()];
  org = await bench.org("org");
  [home, other] = [await bench.space(org, "home"), await bench.space(org, "other")];
  for (const user of ["bob", "ann"])
    await bench.make("/v3/roles", {
      type: "organization_user",
      relationships: { user: to(user), organization: to(org) },
    });
  for (const [user, space] of [
    ["bob", other],
    ["ann", other],
    ["ann", home],
  ] as const)
    await bench.make("/v3/roles", { type: "space_developer", relationships: { user: to(user), space: to(space) } });
  await makeCatalog(bench, broker);
  await setFlag(true);
});
afterAll(async () => {
  await bench.testEnv.stop();
  await broker.stop();
});

async function setFlag(enabled: boolean): Promise<void> {
  const answer = await bench.call("PATCH", "/v3/feature_flags/service_instance_sharing", { enabled });
  expect(answer.status).toBe(200);
}

let made = 0;
const freeName = (stem: string): string => `${stem}-${++made}`;

async function planGUID(name: string): Promise<string> {
  return (await bench.testEnv.kube.get(ServicePlan, { namespace: SYSTEM, name })).metadata.uid ?? "";
}

async function instance({ name = freeName("db"), plan = "small", space = home } = {}): Promise<Made> {
  const relationships = { space: to(space), service_plan: to(await planGUID(plan)) };
  const job = await bench.job(await bench.call("POST", INSTANCES, { type: "managed", name, relationships }));
  expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
  const { resources } = await bench.read(`${INSTANCES}?names=${name}&space_guids=${space.guid}`);
  return resources[0] as Made;
}

const sharedPath = ({ guid }: Made): string => `${INSTANCES}/${guid}/relationships/shared_spaces`;
const share = (of: Made, spaces: readonly Made[] = [other], person: "admin" | "ann" | "bob" = "admin") =>
  bench.call("POST", sharedPath(of), { data: spaces.map(({ guid }) => ({ guid })) }, person);
const unshare = (of: Made, from: { guid: string } = other) => bench.call("DELETE", `${sharedPath(of)}/${from.guid}`);

async function shared(): Promise<Made> {
  const of = await instance();
  expect((await share(of)).status).toBe(200);
  return of;
}

const bindBody = (of: Made, app: Made): object => ({
  type: "app",
  relationships: { service_instance: to(of), app: to(app) },
});

async function bound(of: Made): Promise<{ app: Made; binding: Made }> {
  const app = (await bench.app(other, freeName("shop"))) as Made;
  const job = await bench.job(await bench.call("POST", BINDINGS, bindBody(of, app)));
  expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
  const { resources } = await bench.read(`${BINDINGS}?app_guids=${app.guid}`);
  return { app, binding: resources[0] as Made };
}

const namesFor = async (person: "bob" | "admin", query = ""): Promise<string[]> => {
  const { json } = await bench.call("GET", `${INSTANCES}?per_page=1000${query}`, undefined, person);
  return json.resources.map(({ name }: Made) => name);
};

const namespaceOf = ({ guid }: Made): string =>
  bench.testEnv.replicas[0].api.cache.store(Space).byIndex("guid", guid)[0]?.status?.namespace ?? "";
const objectOf = async (of: Made): Promise<ServiceInstance> => {
  const found = bench.testEnv.replicas[0].api.cache.store(ServiceInstance).byIndex("guid", of.guid)[0];
  if (!found) throw new Error("the instance is not there");
  return found;
};

describe("a shared instance", () => {
  test("is listed with its spaces, and seen by members of these", async () => {
    const of = await instance({ plan: "told" });
    expect(await namesFor("bob")).not.toContain(of.name);
    const answer = await share(of, [other], "ann");
    expect([answer.status, answer.json.data]).toEqual([200, [{ guid: other.guid }]]);
    expect((await bench.read(sharedPath(of))).data).toEqual([{ guid: other.guid }]);
    for (const query of ["", `&space_guids=${other.guid}`, `&organization_guids=${org.guid}`, `&names=${of.name}`])
      await eventually(async () => expect(await namesFor("bob", query)).toContain(of.name));
    expect(await namesFor("admin", `&space_guids=${other.guid}&organization_guids=${org.guid}`)).toContain(of.name);
    const seen = await bench.call("GET", `${sharedPath(of)}?fields[space]=name`, undefined, "bob");
    expect(seen.json.included.spaces).toEqual([{ name: "other" }]);
    // Another target is no news for the members of this one.
    const third = await bench.space(org, freeName("third"));
    expect((await share(of, [third])).json.data).toHaveLength(2);
    for (const [person, count] of [
      ["bob", 1],
      ["ann", 2],
    ] as const) {
      expect((await bench.call("GET", sharedPath(of), undefined, person)).json.data).toHaveLength(count);
      const usage = await bench.call("GET", `${sharedPath(of)}/usage_summary`, undefined, person);
      expect(usage.json.usage_summary).toHaveLength(count);
    }
    // To see it is not to change it.
    const changed = await bench.call("PATCH", `${INSTANCES}/${of.guid}`, { tags: ["x"] }, "bob");
    expect(changed.status).toBe(403);
    expect((await bench.call("GET", `${INSTANCES}/${of.guid}/parameters`, undefined, "bob")).status).toBe(403);
    expect((await bench.call("GET", `${INSTANCES}/${of.guid}/parameters`, undefined, "ann")).status).toBe(200);
    const permissions = await bench.call("GET", `${INSTANCES}/${of.guid}/permissions`, undefined, "bob");
    expect(permissions.json).toEqual({ manage: false, read: true });
  });

  test("is bound to apps there, and the broker is told of the instance's space and of the app's", async () => {
    const of = await shared();
    broker.answer(`${of.guid}/service_bindings/`, () => ({ status: 201, body: { credentials: { uri: "db://x" } } }));
    await eventually(async () => expect(await namesFor("bob")).toContain(of.name));
    const app = (await bench.app(other, freeName("shop"))) as Made;
    const job = await bench.job(await bench.call("POST", BINDINGS, bindBody(of, app), "bob"));
    expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
    expect(broker.calls(`${of.guid}/service_bindings/`)[0]?.body).toMatchObject({
      app_guid: app.guid,
      bind_resource: { app_guid: app.guid, space_guid: other.guid },
      context: { space_guid: home.guid, space_name: "home", organization_guid: org.guid },
    });
    const env = await bench.read(`/v3/apps/${app.guid}/env`);
    expect(env.system_env_json.VCAP_SERVICES.db).toMatchObject([{ name: of.name, credentials: { uri: "db://x" } }]);
    const { usage_summary } = await bench.read(`${sharedPath(of)}/usage_summary`);
    expect(usage_summary).toEqual([{ space: { guid: other.guid }, bound_app_count: 1 }]);
    const listed = await bench.read(`${BINDINGS}?include=app&type=app&service_instance_guids=${of.guid}`);
    expect(listed.included.apps).toMatchObject([{ guid: app.guid }]);
    // Keys are its own space's.
    const key = { type: "key", name: freeName("key"), relationships: { service_instance: to(of) } };
    expect((await bench.call("POST", BINDINGS, key, "bob")).status).toBe(403);
  });

  test("is bound to an app that has an instance whose object has the same name", async () => {
    const name = freeName("db");
    const relationships = { space: to(other) };
    const body = { type: "user-provided", name, relationships, credentials: { uri: "own" } };
    const own = (await bench.make(INSTANCES, body)) as Made;
    expect((await bench.call("PATCH", `${INSTANCES}/${own.guid}`, { name: freeName("renamed") })).status).toBe(200);
    const of = await instance({ name });
    expect((await share(of)).status).toBe(200);
    expect((await objectOf(of)).metadata.name).toBe((await objectOf(own)).metadata.name);
    const { app } = await bound(of);
    expect((await bench.call("POST", BINDINGS, bindBody(own, app))).status).toBe(201);
    expect(fault(await bench.call("POST", BINDINGS, bindBody(of, app)))[2]).toMatch(/already bound/);
    const env = await bench.read(`/v3/apps/${app.guid}/env`);
    expect(env.system_env_json.VCAP_SERVICES).toMatchObject({ db: [{ name }], "user-provided": [{}] });
  });

  test("is bound by a manifest of the other space", async () => {
    const of = await shared();
    broker.answer(`${of.guid}/service_bindings/`, () => ({ status: 201, body: { credentials: { uri: "db://y" } } }));
    const name = freeName("shop");
    const text = `applications:\n- name: ${name}\n  no-route: true\n  services: [${of.name}]\n`;
    const job = await bench.job(await bench.manifest(other, text));
    expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
    const { resources } = await bench.read(`${BINDINGS}?service_instance_guids=${of.guid}`);
    expect(resources).toMatchObject([{ type: "app", last_operation: { state: "succeeded" } }]);
  });

  test("keeps its name, which no other instance of the spaces has", async () => {
    const of = await shared();
    const rename = await bench.call("PATCH", `${INSTANCES}/${of.guid}`, { name: freeName("new") });
    expect(fault(rename).slice(0, 2)).toEqual([422, "CF-SharedServiceInstanceCannotBeRenamed"]);
    const taken = [422, "CF-UnprocessableEntity", `The service instance name is taken: ${of.name}.`];
    const relationships = { space: to(other) };
    for (const body of [
      { type: "user-provided", name: of.name, relationships },
      {
        type: "managed",
        name: of.name,
        relationships: { ...relationships, service_plan: to(await planGUID("small")) },
      },
    ])
      expect(fault(await bench.call("POST", INSTANCES, body))).toEqual(taken);
    const one = await bench.make(INSTANCES, { type: "user-provided", name: freeName("own"), relationships });
    expect(fault(await bench.call("PATCH", `${INSTANCES}/${one.guid}`, { name: of.name }))).toEqual(taken);
  });
});

describe("sharing is refused", () => {
  test.each<[string, () => Promise<[Made, Made[]?]>, RegExp]>([
    ["with its own space", async () => [await instance(), [home]], /cannot be shared into the space where they were/],
    ["with a space that is not there", async () => [await instance(), [{ guid: "no", name: "" }]], /Ensure the spaces/],
    ["twice with one space", async () => [await shared()], /has already been shared with other/],
    ["of an offering that forbids it", async () => [await instance({ plan: "one" })], /does not support .* sharing/],
    ["of a user-provided instance", async () => [await userProvided()], /User-provided services cannot be shared/],
    ["where its name is taken", takenName, /already exists in other/],
    ["where its plan is not enabled", hiddenPlan, /plan large is not enabled in org\/other/],
  ])("%s", async (_name, given, message) => {
    const [of, spaces] = await given();
    const answer = await share(of, spaces);
    expect(fault(answer)).toEqual([422, "CF-UnprocessableEntity", expect.stringMatching(message)]);
  });

  const userProvided = (): Promise<Made> =>
    bench.make(INSTANCES, { type: "user-provided", name: freeName("own"), relationships: { space: to(home) } });

  async function takenName(): Promise<[Made]> {
    const of = await instance();
    await instance({ name: of.name, space: other });
    return [of];
  }

  async function hiddenPlan(): Promise<[Made]> {
    const of = await instance({ plan: "large" });
    await bench.testEnv.kube.patch(
      ServicePlan,
      { namespace: SYSTEM, name: "large" },
      { type: "merge", body: { spec: { visibility: { type: "admin" } } } },
    );
    await eventually(async () =>
      expect((await bench.read(`/v3/service_plans/${await planGUID("large")}`)).visibility_type).toBe("admin"),
    );
    return [of];
  }

  test("to who may not change instances there, or here", async () => {
    const of = await instance();
    expect(fault(await share(of, [other], "bob"))[0]).toBe(404);
    const foreign = (await bench.space(org, freeName("foreign"))) as Made;
    await bench.make("/v3/roles", { type: "space_auditor", relationships: { user: to("ann"), space: to(foreign) } });
    await eventually(async () =>
      expect(fault(await share(of, [foreign], "ann"))).toEqual([
        422,
        "CF-UnprocessableEntity",
        expect.stringMatching(/Write permission is required/),
      ]),
    );
  });

  test("while the feature flag is off, but for its end", async () => {
    const of = await shared();
    const third = (await bench.space(org, freeName("third"))) as Made;
    expect((await share(of, [third])).status).toBe(200);
    await setFlag(false);
    try {
      expect(fault(await share(await instance())).slice(0, 2)).toEqual([403, "CF-FeatureDisabled"]);
      for (const space of [other, third]) expect((await unshare(of, space)).status).toBe(204);
    } finally {
      await setFlag(true);
    }
  });
});

describe("unsharing", () => {
  test("unbinds the apps there, and hides the instance", async () => {
    const of = await shared();
    const { app, binding } = await bound(of);
    await eventually(async () => expect(await namesFor("bob")).toContain(of.name));
    expect((await unshare(of)).status).toBe(204);
    expect((await bench.read(`${BINDINGS}?app_guids=${app.guid}`)).resources).toEqual([]);
    expect(broker.calls(binding.guid).map(({ method }) => method)).toEqual(["PUT", "DELETE"]);
    await eventually(async () => expect(await namesFor("bob")).not.toContain(of.name));
    const again = await bench.call("POST", BINDINGS, bindBody(of, app));
    expect(fault(again)[2]).toBe("The service instance and the app are in different spaces.");
    // As in CF, one that is not shared there is no error.
    expect((await unshare(of)).status).toBe(204);
    expect(fault(await unshare(of, { guid: "no" }))[0]).toBe(422);
  });

  test("says which binding the broker does not delete", async () => {
    const of = await shared();
    const { app, binding } = await bound(of);
    broker.answer(binding.guid, ({ method }) => ({ status: method === "DELETE" ? 500 : 200, body: {} }));
    const answer = await unshare(of);
    expect(fault(answer)).toEqual([502, "CF-ServiceInstanceUnshareFailed", expect.stringContaining(app.name)]);
    broker.answer(binding.guid, () => ({ status: 200, body: {} }));
  });
});

describe("by kubectl", () => {
  const shareByKubectl = async (of: Made, sharedSpaces: readonly string[]): Promise<void> => {
    const { metadata } = await objectOf(of);
    const key = { namespace: metadata.namespace ?? "", name: metadata.name };
    await bench.testEnv.kube.patch(ServiceInstance, key, { type: "merge", body: { spec: { sharedSpaces } } });
  };
  const condition = async (of: Made) => (await objectOf(of)).status?.conditions?.find(({ type }) => type === "Shared");

  test("an instance that may not be shared says so, and nobody there sees it", async () => {
    const of = await instance({ plan: "one" });
    await shareByKubectl(of, [namespaceOf(other)]);
    await eventually(async () =>
      expect(await condition(of)).toMatchObject({ status: "False", reason: "NotShareable" }),
    );
    expect(await namesFor("bob")).not.toContain(of.name);
    const fixed = { namespace: SYSTEM, name: "fixed" };
    await bench.testEnv.kube.patch(ServiceOffering, fixed, { type: "merge", body: { spec: { shareable: true } } });
    await eventually(async () => expect(await namesFor("bob")).toContain(of.name));
    expect(await condition(of)).toMatchObject({ status: "True" });
    await bench.testEnv.kube.patch(ServiceOffering, fixed, { type: "merge", body: { spec: { shareable: false } } });
    await eventually(async () => expect(await namesFor("bob")).not.toContain(of.name));
  });

  test("a space that does not exist is no problem of the others", async () => {
    const of = await instance();
    await shareByKubectl(of, ["nowhere", namespaceOf(other)]);
    await eventually(async () => expect(await namesFor("bob")).toContain(of.name));
    await eventually(async () =>
      expect(await condition(of)).toMatchObject({
        status: "False",
        message: expect.stringContaining("nowhere") as string,
      }),
    );
    await shareByKubectl(of, []);
    await eventually(async () => expect(await condition(of)).toMatchObject({ status: "True", reason: "NotShared" }));
    expect(await bench.testEnv.kube.find(App, { namespace: "nowhere", name: "x" })).toBeUndefined();
  });
});
