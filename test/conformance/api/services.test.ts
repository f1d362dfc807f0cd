// User-provided service instances and their bindings: bodies, lists, credentials, what apps get, and who may what.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { Space } from "../../../crds/space/space.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { eventually } from "../../eventually.ts";
import type { TestUser } from "./test-env.ts";
import { type ApiHarness, startApiHarness, to } from "./harness.ts";

let bench: ApiHarness;
let org: { guid: string };
let space: { guid: string };
let other: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  org = await bench.org("org");
  space = await bench.space(org, "space");
  other = await bench.space(org, "other");
  for (const user of ["ann", "bob", "carl"])
    await bench.make("/v3/roles", {
      type: "organization_user",
      relationships: { user: to(user), organization: to(org) },
    });
  for (const [user, type] of [
    ["ann", "space_auditor"],
    ["bob", "space_supporter"],
    ["carl", "space_developer"],
  ] as const)
    await bench.make("/v3/roles", { type, relationships: { user: to(user), space: to(space) } });
});
afterAll(() => bench.testEnv.stop());

type Answer = Awaited<ReturnType<ApiHarness["call"]>>;

function expectRefusal({ status, json }: Answer, words: RegExp | string): void {
  expect([status, json.errors?.[0]?.detail]).toEqual([422, expect.stringMatching(words)]);
}

const PATH = "/v3/service_instances";
const BINDINGS = "/v3/service_credential_bindings";
let made = 0;
/** A name that no other test, and no other try of this one, uses. */
const freeName = (stem: string): string => `${stem}-${++made}`;

const body = (name: string, more: object = {}, within = space) => ({
  type: "user-provided",
  name,
  relationships: { space: to(within) },
  ...more,
});
// Bodies are what is under test.
/* eslint-disable @typescript-eslint/no-explicit-any */
const make = (more: object = {}, within = space): Promise<any> => bench.make(PATH, body(freeName("db"), more, within));
const binding = (app: { guid: string }, instance: { guid: string }, more: object = {}) => ({
  type: "app",
  relationships: { app: to(app), service_instance: to(instance) },
  ...more,
});
const bind = (app: { guid: string }, instance: { guid: string }, more: object = {}): Promise<any> =>
  bench.make(BINDINGS, binding(app, instance, more));
const namespaceOf = ({ guid }: { guid: string }): string =>
  bench.testEnv.replicas[0].api.cache.store(Space).byIndex("guid", guid)[0]?.status?.namespace ?? "";
const newApp = (within = space): Promise<any> => bench.app(within, freeName("app"));
/* eslint-enable @typescript-eslint/no-explicit-any */

describe("instances", () => {
  test("are made, shown, listed, changed and deleted", async () => {
    const name = freeName("mine");
    const instance = await bench.make(
      PATH,
      body(name, {
        tags: ["sql"],
        credentials: { uri: "postgres://u:p@db/x" },
        syslog_drain_url: "syslog://logs.example.com",
        route_service_url: "https://rs.example.com",
        metadata: { labels: { tier: "gold" }, annotations: { note: "x" } },
      }),
    );
    expect(instance).toMatchObject({
      name,
      type: "user-provided",
      tags: ["sql"],
      syslog_drain_url: "syslog://logs.example.com",
      route_service_url: "https://rs.example.com",
      last_operation: { type: "create", state: "succeeded" },
      relationships: { space: to(space) },
      metadata: { labels: { tier: "gold" }, annotations: { note: "x" } },
    });
    const at = `${PATH}/${instance.guid}`;
    expect((await bench.call("GET", at)).json).toEqual(instance);
    const listed = await bench.call("GET", `${PATH}?names=${name}&type=user-provided&label_selector=tier=gold`);
    expect([listed.json.resources, listed.json.included]).toEqual([[instance], undefined]);
    expect((await bench.call("GET", `${at}/credentials`)).json).toEqual({ uri: "postgres://u:p@db/x" });

    const renamed = freeName("renamed");
    const after = await bench.call("PATCH", at, {
      name: renamed,
      tags: [],
      syslog_drain_url: "",
      credentials: { a: 1 },
    });
    expect([after.status, after.json]).toMatchObject([200, { name: renamed, tags: [], syslog_drain_url: null }]);
    expect((await bench.call("GET", `${at}/credentials`)).json).toEqual({ a: 1 });

    const emptied = await bench.call("PATCH", at, { credentials: null, tags: null });
    expect([emptied.status, emptied.json.tags]).toEqual([200, []]);
    expect((await bench.call("GET", `${at}/credentials`)).json).toEqual({});
    const secrets = await bench.testEnv.kube.list(Secret, { namespace: namespaceOf(space) });
    const ofInstance = secrets.items.filter(({ metadata }) => JSON.stringify(metadata.labels).includes(instance.guid));
    expect(ofInstance).toEqual([]);

    expect((await bench.call("DELETE", at)).status).toBe(204);
    expect((await bench.call("GET", at)).status).toBe(404);
  });

  test("of one name are one in a space, and as many as there are spaces", async () => {
    const instance = await make();
    const taken = await bench.call("POST", PATH, body(instance.name));
    expectRefusal(taken, `The service instance name is taken: ${instance.name}.`);
    expect((await bench.call("POST", PATH, body(instance.name, {}, other))).status).toBe(201);
    const second = await make();
    const renamed = await bench.call("PATCH", `${PATH}/${second.guid}`, { name: instance.name });
    expectRefusal(renamed, `The service instance name is taken: ${instance.name}.`);
  });

  test.each([
    ["no type", { type: undefined }, /type/i],
    ["no plan, though managed", { type: "managed" }, /one or more valid relationships/],
    ["credentials that are no object", { credentials: "x" }, /Credentials must be an object/],
    ["credentials without bound", { credentials: { a: "x".repeat(70_000) } }, /may have 65536 bytes/],
    ["a plain route service", { route_service_url: "http://rs" }, /must be https/],
    ["a drain that is no URL", { syslog_drain_url: "logs" }, /must be a valid URI/],
    ["tags without bound", { tags: ["x".repeat(2049)] }, /2048 characters or less/],
    ["a space that is not there", { relationships: { space: to("gone") } }, /Invalid space/],
  ])("with %s are refused", async (_, more, words) => {
    expectRefusal(await bench.call("POST", PATH, body(freeName("bad"), more)), words);
  });

  test("have no parameters, and included fields of space and org", async () => {
    const instance = await make();
    const at = `${PATH}/${instance.guid}`;
    const refused = await bench.call("GET", `${at}/parameters`);
    expect([refused.status, refused.json.errors[0].title]).toEqual([
      400,
      "CF-ServiceFetchInstanceParametersNotSupported",
    ]);
    const shown = await bench.call(
      "GET",
      `${at}?fields[space]=name,guid&fields[space.organization]=name&fields[service_plan]=name`,
    );
    expect(shown.json.included).toEqual({
      spaces: [{ guid: space.guid, name: "space" }],
      organizations: [{ name: "org" }],
      service_plans: [],
    });
    expect((await bench.call("GET", `${at}?fields[space]=owner`)).status).toBe(400);
  });

  test("take no Secret of somebody else, not even a labelled one, and are not made without theirs", async () => {
    const { kube } = bench.testEnv;
    const name = freeName("foreign");
    const namespace = namespaceOf(space);
    const metadata = { name: `${name}-credentials`, namespace, labels: { "cupola.dev/env": "allowed" } };
    const data = { host: Buffer.from("db").toString("base64") };
    await kube.create(Secret, { metadata, type: "Opaque", data });
    expectRefusal(
      await bench.call("POST", PATH, body(name, { credentials: { a: 1 } })),
      /is not this service instance's own/,
    );
    const bare = await bench.make(PATH, body(name));
    expectRefusal(
      await bench.call("PATCH", `${PATH}/${bare.guid}`, { tags: ["new"], credentials: { a: 1 } }),
      /is not this service instance's own/,
    );
    expect((await bench.call("GET", `${PATH}/${bare.guid}`)).json.tags).toEqual([]);
    expect((await kube.get(Secret, metadata)).data).toEqual(data);
    await bench.call("DELETE", `${PATH}/${bare.guid}`);
    expect(await bench.column(`${PATH}?names=${name}`, "name")).toEqual([]);
  });

  test("are made by admins only while their feature flag is off, at both doors", async () => {
    const flag = "/v3/feature_flags/service_instance_creation";
    expect((await bench.call("PATCH", flag, { enabled: false })).status).toBe(200);
    try {
      const name = freeName("off");
      const refused = await bench.call("POST", PATH, body(name), "carl");
      expect([refused.status, refused.json.errors[0].title]).toEqual([403, "CF-FeatureDisabled"]);
      await eventually(() =>
        expect(
          bench.testEnv
            .as("carl")
            .create(ServiceInstance, { metadata: { name, namespace: namespaceOf(space) }, spec: {} }),
        ).rejects.toThrow(/Feature Disabled|service_instance_creation/),
      );
      expect((await bench.call("POST", PATH, body(freeName("admin")))).status).toBe(201);
    } finally {
      await bench.call("PATCH", flag, { enabled: true });
    }
  });

  test("take first credentials of several requests at once", async () => {
    const at = `${PATH}/${(await make()).guid}`;
    const answers = await Promise.all([1, 2, 3].map((a) => bench.call("PATCH", at, { credentials: { a } })));
    expect(answers.map(({ status, text }) => [status, status !== 200 && text])).toEqual(
      answers.map(() => [200, false]),
    );
    expect((await bench.call("GET", `${at}/credentials`)).json).toEqual({ a: expect.any(Number) as number });
  });

  test("whose new name is taken keep their credentials", async () => {
    const [one, second] = [await make({ credentials: { a: 1 } }), await make()];
    const refused = await bench.call("PATCH", `${PATH}/${one.guid}`, { name: second.name, credentials: { a: 2 } });
    expectRefusal(refused, /name is taken/);
    expect((await bench.call("GET", `${PATH}/${one.guid}/credentials`)).json).toEqual({ a: 1 });
  });
});

describe("bindings", () => {
  test("are made, shown, listed, labelled and deleted", async () => {
    const [app, instance] = [await newApp(), await make({ credentials: { user: "u" } })];
    const name = freeName("bound");
    const bound = await bind(app, instance, { name });
    expect(bound).toMatchObject({
      name,
      type: "app",
      last_operation: { type: "create", state: "succeeded" },
      relationships: { app: to(app), service_instance: to(instance) },
    });
    const at = `${BINDINGS}/${bound.guid}`;
    expect((await bench.call("GET", at)).json).toEqual(bound);
    const query = `app_guids=${app.guid}&service_instance_guids=${instance.guid}&type=app&names=${name}&include=app,service_instance`;
    const listed = (await bench.call("GET", `${BINDINGS}?${query}`)).json;
    expect(listed.resources).toEqual([bound]);
    expect([listed.included.apps[0].guid, listed.included.service_instances[0].guid]).toEqual([
      app.guid,
      instance.guid,
    ]);
    const refused = await bench.call("GET", `${at}/parameters`);
    expect([refused.status, refused.json.errors[0].title]).toEqual([
      400,
      "CF-ServiceFetchBindingParametersNotSupported",
    ]);
    expect((await bench.call("GET", `${at}/details`)).json).toEqual({ credentials: { user: "u" }, volume_mounts: [] });
    const labelled = await bench.call("PATCH", at, { metadata: { labels: { a: "b" } } });
    expect(labelled.json.metadata.labels).toEqual({ a: "b" });
    expect((await bench.call("DELETE", at)).status).toBe(204);
    expect((await bench.call("GET", at)).status).toBe(404);
  });

  test("are one for an app and an instance, also of requests at once", async () => {
    const [app, instance] = [await newApp(), await make()];
    const answers = await Promise.all([1, 2, 3].map(() => bench.call("POST", BINDINGS, binding(app, instance))));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
    for (const refused of answers.filter(({ status }) => status === 422))
      expectRefusal(refused, /already bound to the service instance/);
  });

  test("are refused where they cannot be", async () => {
    const [app, instance, elsewhere] = [await newApp(), await make(), await newApp(other)];
    const refusals: [object, RegExp][] = [
      [binding(elsewhere, instance), /different spaces/],
      [{ ...binding(app, instance), type: "key", name: "k" }, /type 'key' are not supported/],
      [binding(app, { guid: "gone" }), /service instance could not be found/],
      [binding({ guid: "gone" }, instance), /app could not be found/],
      [binding(app, instance, { parameters: { a: 1 } }), /parameters are not supported/],
    ];
    for (const [wrong, words] of refusals) expectRefusal(await bench.call("POST", BINDINGS, wrong), words);
  });

  test("go with their app, and with their instance", async () => {
    const [app, instance] = [await newApp(), await make({ credentials: { a: "b" } })];
    const bound = await bind(app, instance);
    expect((await bench.call("DELETE", `${PATH}/${instance.guid}`)).status).toBe(204);
    expect((await bench.call("GET", `${BINDINGS}/${bound.guid}`)).status).toBe(404);
    const again = await bind(app, await make());
    await bench.call("DELETE", `/v3/apps/${app.guid}`);
    await eventually(async () => expect((await bench.call("GET", `${BINDINGS}/${again.guid}`)).status).toBe(404));
  });
});

describe("what an app gets", () => {
  const objectOf = async (app: { guid: string }): Promise<App> =>
    (await bench.testEnv.kube.list(App)).items.find(
      ({ metadata }) => metadata.labels?.["cupola.dev/guid"] === app.guid,
    )!;

  async function startedWith(app: { guid: string }): Promise<Record<string, unknown>> {
    const droplet = await bench.droplet(app, freeName("droplet"));
    await bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, to(droplet));
    await bench.call("POST", `/v3/apps/${app.guid}/actions/start`);
    const { metadata } = await objectOf(app);
    return eventually(async () => {
      const lrps = (await bench.testEnv.kube.list(LRP, { namespace: metadata.namespace })).items;
      const { env } = lrps.find(({ spec }) => spec.app.guid === app.guid)!.spec;
      const ref = env.find(({ name }) => name === "VCAP_SERVICES")?.valueFrom?.secretKeyRef;
      const secret = await bench.testEnv.kube.get(Secret, { namespace: metadata.namespace!, name: ref!.name });
      return Object.fromEntries(
        Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
      );
    });
  }

  test("as files is judged before a start: a credential whose name is no file is told, without its value", async () => {
    const app = await newApp();
    const droplet = await bench.droplet(app, freeName("droplet"));
    await bench.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, to(droplet));
    const instance = await make({ credentials: { jdbcUrl: "s3cret" } });
    await bind(app, instance, { name: "store" });
    const switchTo = (enabled: boolean) =>
      bench.call("PATCH", `/v3/apps/${app.guid}/features/service-binding-k8s`, { enabled });
    await switchTo(true);
    const words =
      /^The bound services cannot be files: the credential 'jdbcUrl' of binding 'store' is no name of a file: a to z/;
    const starts: [string, object?][] = [
      [`/v3/apps/${app.guid}/actions/start`],
      [`/v3/apps/${app.guid}/actions/restart`],
      ["/v3/deployments", { relationships: { app: to(app) } }],
    ];
    for (const [path, given] of starts) {
      const answer = await bench.call("POST", path, given);
      expectRefusal(answer, words);
      expect(JSON.stringify(answer.json)).not.toContain("s3cret");
    }
    await switchTo(false);
    expect((await bench.call("POST", `/v3/apps/${app.guid}/actions/restart`)).status).toBe(200);
  });

  test("is VCAP_SERVICES and DATABASE_URL, in a Secret, never in an object", async () => {
    const app = await newApp();
    const uri = "postgres://u:s3cret@db/x";
    const instance = await make({ credentials: { uri }, tags: ["sql"] });
    const bound = await bind(app, instance, { name: "store" });
    const { VCAP_SERVICES, DATABASE_URL } = await startedWith(app);
    const expected = {
      "user-provided": [
        {
          label: "user-provided",
          name: "store",
          tags: ["sql"],
          instance_guid: instance.guid,
          instance_name: instance.name,
          binding_guid: bound.guid,
          binding_name: "store",
          credentials: { uri },
          syslog_drain_url: null,
          volume_mounts: [],
        },
      ],
    };
    expect(JSON.parse(String(VCAP_SERVICES))).toEqual(expected);
    expect(DATABASE_URL).toBe(uri);
    const shown = (await bench.call("GET", `/v3/apps/${app.guid}/env`)).json;
    expect(shown.system_env_json).toEqual({ VCAP_SERVICES: expected });
    const objects = await Promise.all(
      ([ServiceInstance, ServiceBinding, LRP] as readonly ResourceRef[]).map(
        async (ref) => (await bench.testEnv.kube.list(ref)).items,
      ),
    );
    expect(JSON.stringify(objects)).not.toContain("s3cret");
  });

  test("is a Provisioned Service, too, whose Secret follows the instance", async () => {
    const app = await newApp();
    const instance = await make({ credentials: { uri: "postgres://h", old: "x" } });
    const bound = await bind(app, instance);
    const { kube } = bench.testEnv;
    const secretOf = async (): Promise<{ type?: string; data: Record<string, string> }> => {
      const { items } = await kube.list(ServiceBinding);
      const found = items.find(({ metadata }) => metadata.labels?.["cupola.dev/guid"] === bound.guid);
      const name = found?.status?.binding?.name ?? "";
      const { type, data = {} } = await kube.get(Secret, { namespace: found?.metadata.namespace ?? "", name });
      const texts = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]);
      return { type, data: Object.fromEntries(texts) as Record<string, string> };
    };
    await eventually(async () =>
      expect(await secretOf()).toMatchObject({
        type: "servicebinding.io/user-provided",
        data: { type: "user-provided", uri: "postgres://h", old: "x" },
      }),
    );
    await bench.call("PATCH", `${PATH}/${instance.guid}`, { credentials: { uri: "postgres://i" }, tags: ["new"] });
    await eventually(async () => {
      const { data } = await secretOf();
      expect(data).toMatchObject({ uri: "postgres://i" });
      expect(data).not.toHaveProperty("old");
    });
  });

  test("comes from a labelled Secret of kubectl, and not from anybody's", async () => {
    const app = await newApp();
    const { namespace = "" } = (await objectOf(app)).metadata;
    const { kube } = bench.testEnv;
    const name = freeName("kubectl");
    const data = { host: Buffer.from("db").toString("base64") };
    await kube.create(Secret, { metadata: { name, namespace }, type: "Opaque", data });
    await kube.create(ServiceInstance, { metadata: { name, namespace }, spec: { credentialsSecretRef: { name } } });
    const { resources } = await eventually(async () => {
      const { json } = await bench.call("GET", `${PATH}?names=${name}`);
      expect(json.resources).toHaveLength(1);
      return json;
    });
    expect((await bench.call("GET", `${PATH}/${resources[0].guid}/credentials`)).json).toEqual({});
    const labels = { "cupola.dev/env": "allowed" };
    await kube.patch(Secret, { namespace, name }, { type: "merge", body: { metadata: { labels } } });
    expect((await bench.call("GET", `${PATH}/${resources[0].guid}/credentials`)).json).toEqual({ host: "db" });
    await bind(app, resources[0]);
    expect(JSON.parse(String((await startedWith(app))["VCAP_SERVICES"]))).toMatchObject({
      "user-provided": [{ instance_name: name, credentials: { host: "db" } }],
    });
  });
});

describe("rights", () => {
  test("an auditor reads, without credentials; a supporter binds; a developer does all", async () => {
    const [app, instance] = [await newApp(), await make({ credentials: { a: "b" } })];
    const at = `${PATH}/${instance.guid}`;
    const as = async (user: TestUser, method: string, path: string, sent?: object): Promise<number> =>
      (await bench.call(method, path, sent, user)).status;
    expect(await as("ann", "GET", at)).toBe(200);
    expect(await as("ann", "GET", `${at}/credentials`)).toBe(403);
    expect(await as("ann", "POST", BINDINGS, binding(app, instance))).toBe(403);
    expect(await as("bob", "POST", PATH, body(freeName("bob")))).toBe(403);
    const bound = (await bench.call("POST", BINDINGS, binding(app, instance), "bob")).json;
    expect(await as("bob", "GET", `${BINDINGS}/${bound.guid}`)).toBe(200);
    expect(await as("bob", "GET", `${BINDINGS}/${bound.guid}/details`)).toBe(404);
    expect(await as("bob", "PATCH", `${BINDINGS}/${bound.guid}`, { metadata: { labels: { a: "b" } } })).toBe(403);
    expect(await as("bob", "DELETE", `${BINDINGS}/${bound.guid}`)).toBe(204);
    expect(await as("carl", "GET", `${at}/credentials`)).toBe(200);
    const rights = async (user: TestUser): Promise<unknown> =>
      (await bench.call("GET", `${at}/permissions`, undefined, user)).json;
    expect([await rights("ann"), await rights("carl")]).toEqual([
      { manage: false, read: true },
      { manage: true, read: true },
    ]);
    expect(await as("carl", "DELETE", at)).toBe(204);
  });
});
