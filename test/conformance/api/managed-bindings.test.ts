// Bindings and keys of managed service instances by the CF API.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, startApiHarness, to } from "./harness.ts";
import { makeCatalog, SYSTEM } from "./managed-world.ts";
import { startScriptedBroker, type ScriptedBroker } from "./scripted-broker.ts";

let bench: ApiHarness;
let broker: ScriptedBroker;
let space: { guid: string };
let org: { guid: string };
beforeAll(async () => {
  [bench, broker] = [await startApiHarness(), await startScriptedBroker()];
  org = await bench.org("org");
  space = await bench.space(org, "space");
  const relationships = { user: to("bob"), organization: to(org) };
  await bench.make("/v3/roles", { type: "organization_user", relationships });
  await bench.make("/v3/roles", { type: "space_supporter", relationships: { user: to("bob"), space: to(space) } });
  await makeCatalog(bench, broker);
});
afterAll(async () => {
  await bench.testEnv.stop();
  await broker.stop();
});

let made = 0;
/** A name that no other test, and no other try of this one, uses. */
const freeName = (stem: string): string => `${stem}-${++made}`;
const guidOfResource = ({ guid }: { guid: string }): string => guid;

describe("bindings by the CF API", () => {
  const BINDINGS = "/v3/service_credential_bindings";
  const credentials = { uri: "postgres://u:s3cret@db/x" };
  async function instance(): Promise<{ guid: string; name: string }> {
    const name = freeName("bound");
    const plan = (await bench.testEnv.kube.get(ServicePlan, { namespace: SYSTEM, name: "small" })).metadata.uid ?? "";
    const sent = { type: "managed", name, relationships: { space: to(space), service_plan: to(plan) } };
    const job = await bench.job(await bench.call("POST", "/v3/service_instances", sent));
    expect(job.state).toBe("COMPLETE");
    const { resources } = await bench.read(`/v3/service_instances?names=${name}`);
    broker.answer(`${resources[0].guid}/service_bindings/`, ({ method }) =>
      method === "DELETE" ? { status: 200 } : { status: 201, body: { credentials, syslog_drain_url: "syslog://d" } },
    );
    return resources[0] as { guid: string; name: string };
  }
  const keyBody = (of: { guid: string }, name: string, more: object = {}): object => ({
    type: "key",
    name,
    relationships: { service_instance: to(of) },
    ...more,
  });

  test("a key is made with parameters, shown, listed and deleted", async () => {
    const of = await instance();
    const name = freeName("key");
    const job = await bench.job(await bench.call("POST", BINDINGS, keyBody(of, name, { parameters: { ro: true } })));
    expect([job.state, job.operation, job.errors]).toEqual(["COMPLETE", "service_keys.create", []]);
    expect(broker.calls(`${of.guid}/service_bindings/`)[0]?.body.parameters).toEqual({ ro: true });
    const { resources } = await bench.read(
      `${BINDINGS}?type=key&names=${name}&service_instance_guids=${of.guid}&service_plan_names=small&service_offering_names=db`,
    );
    expect(resources).toMatchObject([
      {
        type: "key",
        name,
        last_operation: { type: "create", state: "succeeded" },
        relationships: { service_instance: to(of) },
      },
    ]);
    const [{ guid }] = resources;
    expect(await bench.read(`${BINDINGS}/${guid}/parameters`)).toEqual({ ro: true });
    expect(await bench.read(`${BINDINGS}/${guid}/details`)).toEqual({
      credentials,
      syslog_drain_url: "syslog://d",
      volume_mounts: [],
    });
    const again = await bench.call("POST", BINDINGS, keyBody(of, name));
    expect([again.status, again.json.errors[0].detail]).toEqual([422, expect.stringMatching(/must be unique/)]);
    const gone = await bench.job(await bench.call("DELETE", `${BINDINGS}/${guid}`));
    expect([gone.state, gone.operation]).toEqual(["COMPLETE", "service_keys.delete"]);
    expect(broker.calls(`${of.guid}/service_bindings/`).map(({ method }) => method)).toEqual(["PUT", "DELETE"]);
  });

  test("a supporter makes and deletes no key, and binds apps", async () => {
    const [of, app] = [await instance(), await bench.app(space, freeName("app"))];
    expect((await bench.call("POST", BINDINGS, keyBody(of, freeName("key")), "bob")).status).toBe(403);
    const name = freeName("key");
    await bench.job(await bench.call("POST", BINDINGS, keyBody(of, name)));
    const [{ guid }] = (await bench.read(`${BINDINGS}?names=${name}`)).resources;
    expect((await bench.call("DELETE", `${BINDINGS}/${guid}`, undefined, "bob")).status).toBe(403);
    const sent = { type: "app", relationships: { app: to(app), service_instance: to(of) } };
    expect((await bench.call("POST", BINDINGS, sent, "bob")).status).toBe(202);
  });

  test("an app is bound, sees VCAP_SERVICES, and is unbound", async () => {
    const [of, app] = [await instance(), await bench.app(space, freeName("app"))];
    const sent = { type: "app", relationships: { app: to(app), service_instance: to(of) } };
    const job = await bench.job(await bench.call("POST", BINDINGS, sent));
    expect([job.state, job.operation]).toEqual(["COMPLETE", "service_bindings.create"]);
    const env = await bench.read(`/v3/apps/${app.guid}/env`);
    expect(env.system_env_json.VCAP_SERVICES).toMatchObject({
      db: [
        {
          label: "db",
          plan: "small",
          provider: null,
          tags: ["sql"],
          instance_name: of.name,
          credentials,
          syslog_drain_url: "syslog://d",
        },
      ],
    });
    const again = await bench.call("POST", BINDINGS, sent);
    expect([again.status, again.json.errors[0].detail]).toEqual([422, expect.stringMatching(/already bound/)]);
    const [{ guid }] = (await bench.read(`${BINDINGS}?app_guids=${app.guid}`)).resources;
    const gone = await bench.job(await bench.call("DELETE", `${BINDINGS}/${guid}`));
    expect([gone.state, gone.operation]).toEqual(["COMPLETE", "service_bindings.delete"]);
  });

  test("strategy multiple binds an app once more, and its next start has the newest credentials", async () => {
    const of = await instance();
    let bound = 0;
    broker.answer(`${of.guid}/service_bindings/`, ({ method }) =>
      method === "DELETE" ? { status: 200 } : { status: 201, body: { credentials: { password: `p${++bound}` } } },
    );
    const app = await bench.app(space, freeName("rotating"));
    const body = (more: object = {}): object => ({
      type: "app",
      relationships: { service_instance: to(of), app: to(app) },
      ...more,
    });
    const multiple = { strategy: "multiple" };
    const jobOf = async (sent: object) => bench.job(await bench.call("POST", BINDINGS, sent));
    for (const sent of [body(), body(multiple), body({ ...multiple, parameters: { a: 1 } })])
      expect((await jobOf(sent)).state).toBe("COMPLETE");
    const { system_env_json } = await bench.read(`/v3/apps/${app.guid}/env`);
    expect(system_env_json.VCAP_SERVICES.db).toMatchObject([{ credentials: { password: "p3" } }]);
    const { resources } = await bench.read(`${BINDINGS}?app_guids=${app.guid}`);
    expect(resources).toHaveLength(3);
    const single = await bench.call("POST", BINDINGS, body({ strategy: "single" }));
    expect([single.status, single.json.errors[0].detail]).toEqual([422, expect.stringMatching(/already bound/)]);
    for (const sent of [body(multiple), body(multiple)]) expect((await jobOf(sent)).state).toBe("COMPLETE");
    const sixth = await bench.call("POST", BINDINGS, body(multiple));
    expect([sixth.status, sixth.json.errors[0].detail]).toEqual([422, expect.stringMatching(/limit: 5/)]);
    expect((await bench.job(await bench.call("DELETE", `${BINDINGS}/${resources[0].guid}`))).state).toBe("COMPLETE");
    expect((await jobOf(body(multiple))).state).toBe("COMPLETE");
  });

  test("a plan with rotatable bindings gets a successor, unless it has parameters of its own", async () => {
    const plan = { namespace: SYSTEM, name: "small" };
    const rotatable = (bindingRotatable: boolean | null) =>
      bench.testEnv.kube.patch(ServicePlan, plan, { type: "merge", body: { spec: { bindingRotatable } } });
    await rotatable(true);
    try {
      const of = await instance();
      const [expiresAt, renewBefore] = ["2999-01-01T00:00:00.000Z", "2001-01-01T00:00:00.000Z"];
      broker.answer(`${of.guid}/service_bindings/`, ({ method }) => ({
        status: method === "DELETE" ? 200 : 201,
        body: { credentials: {}, metadata: { expires_at: expiresAt, renew_before: renewBefore } },
      }));
      const app = await bench.app(space, freeName("rotated"));
      const body = { type: "app", relationships: { service_instance: to(of), app: to(app) } };
      const bind = async (more: object): Promise<{ guid: string; sent: Record<string, unknown> }> => {
        const before = new Set((await bench.read(`${BINDINGS}?app_guids=${app.guid}`)).resources.map(guidOfResource));
        expect((await bench.job(await bench.call("POST", BINDINGS, { ...body, ...more }))).state).toBe("COMPLETE");
        const { resources } = await bench.read(`${BINDINGS}?app_guids=${app.guid}`);
        const guid = resources.map(guidOfResource).find((one: string) => !before.has(one)) as string;
        return { guid, sent: broker.calls(guid).find(({ method }) => method === "PUT")?.body };
      };
      const first = await bind({ parameters: { size: 1 } });
      expect(first.sent).not.toHaveProperty("predecessor_binding_id");
      const second = await bind({ strategy: "multiple" });
      expect(second.sent).toMatchObject({
        predecessor_binding_id: first.guid,
        service_id: "db-id",
        plan_id: "small-id",
      });
      expect(second.sent).not.toHaveProperty("parameters");
      const own = await bind({ strategy: "multiple", parameters: { size: 2 } });
      expect(own.sent).not.toHaveProperty("predecessor_binding_id");
      const third = await bind({ strategy: "multiple" });
      expect(third.sent).toMatchObject({ predecessor_binding_id: own.guid });
      // The broker has said when the credentials end.
      const { items } = await bench.testEnv.kube.list(ServiceBinding, {
        labelSelector: `cupola.dev/guid=${third.guid}`,
      });
      expect(items[0]?.status).toMatchObject({ expiresAt, renewBefore });
      await eventually(async () => {
        const [now] = (
          await bench.testEnv.kube.list(ServiceBinding, { labelSelector: `cupola.dev/guid=${third.guid}` })
        ).items;
        const due = now?.status?.conditions?.find(({ type }) => type === "RenewalDue");
        expect(due).toMatchObject({ status: "True", reason: "Due" });
      });
    } finally {
      await rotatable(null);
    }
  });

  test("the broker is told who asks, for each operation", async () => {
    const of = await instance();
    const users = (part: string): unknown[] => broker.calls(part).map(({ user }) => user);
    const app = await bench.app(space, freeName("shop"));
    const body = { type: "app", relationships: { service_instance: to(of), app: to(app) } };
    expect((await bench.job(await bench.call("POST", BINDINGS, body, "bob"))).state).toBe("COMPLETE");
    const [{ guid }] = (await bench.read(`${BINDINGS}?app_guids=${app.guid}`)).resources;
    expect((await bench.job(await bench.call("DELETE", `${BINDINGS}/${guid}`))).state).toBe("COMPLETE");
    expect(users(guid)).toEqual([{ user_id: "bob" }, { user_id: "admin" }]);
    const path = `/v3/service_instances/${of.guid}`;
    expect((await bench.job(await bench.call("PATCH", path, { parameters: { a: 1 } }))).state).toBe("COMPLETE");
    expect((await bench.job(await bench.call("DELETE", path))).state).toBe("COMPLETE");
    const own = broker.calls(of.guid).filter(({ path: asked }) => !asked.includes("service_bindings"));
    expect(own.map(({ user }) => user)).toEqual(own.map(() => ({ user_id: "admin" })));
  });

  test("one that the broker refused fails its job, and is made at the next attempt", async () => {
    const of = await instance();
    const name = freeName("key");
    broker.answer(`${of.guid}/service_bindings/`, () => ({ status: 400, body: { description: "no more" } }));
    const refused = await bench.job(await bench.call("POST", BINDINGS, keyBody(of, name)));
    expect([refused.state, refused.errors[0]?.detail]).toEqual(["FAILED", expect.stringMatching(/no more/)]);
    const [{ guid }] = (await bench.read(`${BINDINGS}?names=${name}`)).resources;
    expect((await bench.call("GET", `${BINDINGS}/${guid}/details`)).status).toBe(404);
    broker.answer(`${of.guid}/service_bindings/`, () => ({ status: 200, body: { credentials } }));
    const made = await bench.job(await bench.call("POST", BINDINGS, keyBody(of, name)));
    expect(made.state).toBe("COMPLETE");
  });

  test("a manifest binds with parameters, and waits for the broker", async () => {
    const of = await instance();
    const name = freeName("app");
    const text = `applications: [{ name: ${name}, no-route: true, services: [{ name: ${of.name}, parameters: { a: 1 } }] }]`;
    const job = await bench.job(await bench.manifest(space, text));
    expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
    expect(broker.calls(`${of.guid}/service_bindings/`)[0]?.body.parameters).toEqual({ a: 1 });
    const { resources } = await bench.read(`${BINDINGS}?service_instance_guids=${of.guid}`);
    expect(resources).toMatchObject([{ last_operation: { state: "succeeded" } }]);
  });
});

test("quotas bound instances, keys and paid plans", async () => {
  const limited = await bench.space(org, freeName("limited"));
  await bench.make("/v3/space_quotas", {
    name: freeName("quota"),
    services: { paid_services_allowed: false, total_service_instances: 1, total_service_keys: 0 },
    relationships: { organization: to(org), spaces: { data: [{ guid: limited.guid }] } },
  });
  const order = async (name: string, plan = "small") => {
    const found = await bench.testEnv.kube.get(ServicePlan, { namespace: SYSTEM, name: plan });
    const relationships = { space: to(limited), service_plan: to(found.metadata.uid ?? "") };
    return bench.call("POST", "/v3/service_instances", { type: "managed", name, relationships });
  };
  const refusal = ({ status, json }: Awaited<ReturnType<typeof order>>) => [status, json.errors?.[0]?.detail];
  expect(refusal(await order(freeName("paid"), "paid"))).toEqual([
    422,
    "The service instance cannot be created because paid service plans are not allowed for your space.",
  ]);
  const name = freeName("first");
  expect((await bench.job(await order(name))).state).toBe("COMPLETE");
  expect(refusal(await order(freeName("second")))).toEqual([422, "You have exceeded your space's services limit."]);
  const [first] = (await bench.read(`/v3/service_instances?names=${name}`)).resources;
  const key = { type: "key", name: "k", relationships: { service_instance: to(first) } };
  expect(refusal(await bench.call("POST", "/v3/service_credential_bindings", key))).toEqual([
    422,
    "You have exceeded your space's limit for service keys.",
  ]);
});
