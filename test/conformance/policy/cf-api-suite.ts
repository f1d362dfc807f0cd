// Operator policy at the CF API, on either API server: judged before the first write, in the same words as at the API server, and at no cost where nothing is judged.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pino } from "pino";
import { App } from "../../../crds/app/app.ts";
import { constraintCRD, constraintKindOf, type Constraint } from "../../../crds/policy-template/constraint.ts";
import { policyTemplateObjects } from "../../../crds/policy-template/default-templates.ts";
import { toConstraintPolicies } from "../../../crds/policy-template/policy-objects.ts";
import { PolicyTemplate } from "../../../crds/policy-template/policy-template.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { createInformers, type Informers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { applyObjects } from "../../../platform/install.ts";
import { startLivePolicies, type LivePolicies } from "../../../platform/policies/live-policies.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, startApiHarness, to } from "../api/harness.ts";
import type { Answer, Replica } from "../api/test-env.ts";

const definition = (group: string, plural: string, kind: string, version = "v1"): ResourceRef => ({
  group,
  version,
  kind,
  plural,
  namespaced: false,
});
const CRD = definition("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition");

/** `start` starts the API server; the embedded one without it. */
export function judgeAtCFAPI(start?: Parameters<typeof startApiHarness>[0]): void {
  let bench: ApiHarness;
  let platform: KubeClient;
  let informers: Informers;
  let live: LivePolicies;
  /** Judges; the other replicas leave it to the API server. */
  let judging: Replica;
  let space: { guid: string };
  let plain: { guid: string };

  beforeAll(async () => {
    bench = await startApiHarness(start);
    const { testEnv } = bench;
    platform = createClient({
      server: testEnv.cluster.url,
      ca: testEnv.cluster.ca,
      auth: { kind: "token", token: "platform-token" },
    });
    const log = pino({ level: "silent" });
    informers = createInformers({ client: platform, log });
    live = startLivePolicies({ informers, log });
    judging = await testEnv.replica("judging", { policies: () => live.policies() });
    const org = await bench.org("acme");
    space = await bench.space(org, "prod-eu");
    plain = await bench.space(org, "dev");
    for (const name of ["requiredlabels", "sizelimit", "hostpattern", "allowedimages"]) await install(name);
  }, 180_000);
  afterAll(async () => {
    await live?.close();
    await informers?.close();
    await platform?.close();
    await bench?.testEnv.stop();
  });
  beforeEach(async () => {
    const { kube } = bench.testEnv;
    for (const { constraint } of [...live.policies().byConstraint.values()]) {
      const ref = {
        ...definition("constraints.cupola.dev", constraint.kind.toLowerCase(), constraint.kind, "v1alpha1"),
      };
      await kube.delete(ref, { name: constraint.metadata.name });
    }
    await eventually(() => expect(live.policies().byConstraint.size).toBe(0));
    judging.requests.length = 0;
  });

  /** A template as its controller leaves it: its kind is served and its rules are in force. */
  async function install(name: string): Promise<void> {
    const { kube } = bench.testEnv;
    const [object] = policyTemplateObjects().filter(({ metadata }) => metadata.name === name);
    if (!object) throw new Error(`there is no template ${name}`);
    await applyObjects(kube, [object]);
    const template = await kube.get(PolicyTemplate, { name });
    await applyObjects(kube, [constraintCRD(template)]);
    await eventually(async () => {
      const { status } = (await kube.get(CRD, { name: `${name}.constraints.cupola.dev` })) as {
        status?: { conditions?: { type: string; status: string }[] };
      };
      expect(status?.conditions?.find(({ type }) => type === "Established")?.status).toBe("True");
    });
    const inForce = { generation: 1, spec: template.spec };
    await kube.patch(
      PolicyTemplate,
      { name },
      { type: "merge", body: { status: { inForce } } },
      { subresource: "status" },
    );
  }

  async function constrain(kind: string, name: string, spec: object): Promise<Constraint> {
    const { kube } = bench.testEnv;
    const template = await kube.get(PolicyTemplate, { name: kind.toLowerCase() });
    const made = (await eventually(() =>
      kube.create(constraintKindOf(template), { metadata: { name }, spec }),
    )) as Constraint;
    await eventually(() => expect([...live.policies().byConstraint.keys()]).toContain(`${kind}/${name}`));
    return made;
  }

  const owner = { parameters: { labels: [{ key: "owner" }] } };
  const prod = { match: { spaces: ["acme/prod-*"] } };
  const details = ({ json }: Answer): string[] => (json.errors ?? []).map(({ detail }: { detail: string }) => detail);
  const warningsOf = ({ headers }: Answer): string[] =>
    (headers.get("x-cf-warnings") ?? "").split(",").filter(Boolean).map(decodeURIComponent);
  const createApp = (replica: Replica, name: string, more: object = {}, where = space): Promise<Answer> =>
    replica.call("admin", "POST", "/v3/apps", { name, relationships: { space: to(where) }, ...more });
  const labelled = (labels: Record<string, string | null>): object => ({ metadata: { labels } });
  const appNames = async (): Promise<string[]> =>
    (await bench.testEnv.kube.list(App, {})).items.map((app) => app.metadata.name);
  /** Writes of objects, tokens and permissions aside. */
  const writes = (): string[] =>
    judging.requests
      .filter(({ method, path }) => method !== "GET" && path.includes("cupola.dev"))
      .map(({ path }) => path);

  const OWNER = "Required labels: needs the label owner (policy owner-in-prod)";

  describe("a denied write", () => {
    test("has one error for each policy, and nothing was written", async () => {
      await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
      await constrain("RequiredLabels", "team", { parameters: { labels: [{ key: "team" }] } });
      const answer = await createApp(judging, "refused");
      expect(answer.json.errors).toEqual([
        { code: 10008, title: "CF-UnprocessableEntity", detail: OWNER },
        { code: 10008, title: "CF-UnprocessableEntity", detail: "Required labels: needs the label team (policy team)" },
      ]);
      expect([answer.status, writes(), await appNames()]).toEqual([422, [], []]);
    });

    test("is one only where the constraint matches", async () => {
      await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
      expect((await createApp(judging, "elsewhere", {}, plain)).status).toBe(201);
      expect((await createApp(judging, "right", labelled({ owner: "ada" }))).status).toBe(201);
    });

    test("may be a change: the object is judged as it would become", async () => {
      const app = (await createApp(judging, "changed", labelled({ owner: "ada" }))).json;
      await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
      const change = (body: object): Promise<Answer> => judging.call("admin", "PATCH", `/v3/apps/${app.guid}`, body);
      expect(details(await change(labelled({ owner: null })))).toEqual([OWNER]);
      expect((await change({ name: "changed-too", ...labelled({ a: "b" }) })).status).toBe(200);
      expect(details(await change({ name: "changed-thrice", ...labelled({ owner: null }) }))).toEqual([OWNER]);
    });

    test("of a process that comes with an app leaves no app behind", async () => {
      await constrain("SizeLimit", "small", { parameters: { maxMemoryMB: 1 } });
      const sizes = await createApp(judging, "no-half");
      expect([sizes.status, details(sizes)[0], (await appNames()).includes("no-half")]).toEqual([
        422,
        expect.stringMatching(/^Size limit: .* \(policy small\)$/),
        false,
      ]);
    });
  });

  describe("a policy that warns", () => {
    test("lets the write pass with its sentence in X-Cf-Warnings", async () => {
      await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner, enforcement: { action: "warn" } });
      const answer = await createApp(judging, "warned");
      expect([answer.status, warningsOf(answer)]).toEqual([201, [OWNER]]);
    });

    test("in dryrun says nothing", async () => {
      await constrain("RequiredLabels", "owner-in-prod", { ...owner, enforcement: { action: "dryrun" } });
      const answer = await createApp(judging, "dryrun");
      expect([answer.status, warningsOf(answer)]).toEqual([201, []]);
    });
  });

  describe("a manifest", () => {
    const manifest = (text: string): Promise<Answer> =>
      judging.send("POST", `/v3/spaces/${space.guid}/actions/apply_manifest`, {
        body: text,
        headers: { authorization: "bearer admin-token", "content-type": "application/x-yaml" },
      });
    const app = (name: string, more = ""): string =>
      `- name: ${name}\n  metadata: { labels: { owner: ada } }\n  env: { A: b }\n${more}`;

    test("whose third app is denied writes nothing; the errors name the app", async () => {
      await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
      await constrain("SizeLimit", "medium", { parameters: { maxMemoryMB: 2048 } });
      await constrain("HostPattern", "hosts", { parameters: { pattern: "^ok" } });
      const before = await appNames();
      const answer = await manifest(
        `applications:\n${app("m-one")}${app("m-two")}- name: m-three\n  memory: 4G\n  routes: [{ route: bad.apps.example }]\n`,
      );
      expect([answer.status, details(answer).sort()]).toEqual([
        422,
        [
          expect.stringMatching(/^For application 'm-three': Host names: .* \(policy hosts\)$/),
          `For application 'm-three': ${OWNER}`,
          expect.stringMatching(/^For application 'm-three': Size limit: .* \(policy medium\)$/),
        ],
      ]);
      expect([writes(), await appNames()]).toEqual([[], before]);
    });

    test("may mend an app that violates a policy, and change it in the same breath", async () => {
      await createApp(judging, "mended");
      await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
      const sidecars = "  sidecars: [{ name: side, process_types: [web], command: run, memory: 16M }]\n";
      const answer = await manifest(`applications:\n${app("mended", `  features: { ssh: false }\n${sidecars}`)}`);
      expect([answer.status, details(answer)]).toEqual([202, []]);
      await eventually(async () => {
        const { pathname } = new URL(answer.headers.get("location") ?? "");
        const job = (await judging.call("admin", "GET", pathname)).json;
        expect([job.state, job.errors]).toEqual(["COMPLETE", []]);
      });
    });

    test("that no policy denies is applied as before, with warnings", async () => {
      await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
      await constrain("SizeLimit", "wishes", { parameters: { maxMemoryMB: 100 }, enforcement: { action: "warn" } });
      const answer = await manifest(
        `applications:\n${app("n-one", "  memory: 200M\n  routes: [{ route: ok-n.apps.example }]\n")}`,
      );
      expect([answer.status, warningsOf(answer).length > 0]).toEqual([202, true]);
      await bench.job(answer);
      expect(await appNames()).toContain("n-one");
    });
  });

  test("a space is judged by its own labels and its org's", async () => {
    await constrain("RequiredLabels", "owner-in-prod", { match: { orgs: ["acme"] }, ...owner });
    const org = (await judging.call("admin", "GET", "/v3/organizations?names=acme")).json.resources[0];
    const make = (more: object): Promise<Answer> =>
      judging.call("admin", "POST", "/v3/spaces", { name: "new", relationships: { organization: to(org) }, ...more });
    expect(details(await make({}))).toEqual([OWNER]);
    expect((await make(labelled({ owner: "ada" }))).status).toBe(201);
  });

  test("a constraint that is deleted opens at once", async () => {
    const { kind, metadata } = await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
    expect((await createApp(judging, "opens")).status).toBe(422);
    const template = await bench.testEnv.kube.get(PolicyTemplate, { name: kind.toLowerCase() });
    await bench.testEnv.kube.delete(constraintKindOf(template), { name: metadata.name });
    await eventually(async () => expect((await createApp(judging, "opens")).status).toBe(201));
  });

  describe("beside the Secrets of a request", () => {
    const secretsOf = async (): Promise<string[]> =>
      (await bench.testEnv.kube.list(Secret, {})).items.map(
        ({ metadata, data }) => metadata.name + JSON.stringify(data),
      );

    test("a denied package leaves no pull Secret", async () => {
      const app = (await createApp(judging, "docker", { lifecycle: { type: "docker", data: {} } })).json;
      await constrain("AllowedImages", "ours", { parameters: { prefixes: ["registry.example/"] } });
      const before = await secretsOf();
      const data = { image: "docker.io/library/nginx", username: "ada", password: "secret" };
      const answer = await judging.call("admin", "POST", "/v3/packages", {
        type: "docker",
        relationships: { app: to(app) },
        data,
      });
      expect(details(answer)).toEqual([expect.stringMatching(/^Allowed images: .* \(policy ours\)$/)]);
      expect(await secretsOf()).toEqual(before);
    });

    test("denied variables leave no values", async () => {
      const app = (await createApp(judging, "variables")).json;
      await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
      const before = await secretsOf();
      const path = `/v3/apps/${app.guid}/environment_variables`;
      expect(details(await judging.call("admin", "PATCH", path, { var: { A: "b" } }))).toEqual([OWNER]);
      expect(await secretsOf()).toEqual(before);
    });
  });

  test("a caller without the right to write learns nothing of the policy", async () => {
    await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
    const { json } = await judging.call("admin", "GET", `/v3/spaces/${space.guid}`);
    const places = {
      organization_user: { organization: json.relationships.organization },
      space_auditor: { space: to(space) },
    };
    for (const [type, place] of Object.entries(places)) {
      const relationships = { user: { data: { username: "bob" } }, ...place };
      expect((await judging.call("admin", "POST", "/v3/roles", { type, relationships })).status).toBe(201);
    }
    // Controllers let him see the space, a moment later.
    await eventually(async () =>
      expect((await judging.call("bob", "GET", `/v3/spaces/${space.guid}`)).status).toBe(200),
    );
    const answer = await judging.call("bob", "POST", "/v3/apps", { name: "mine", relationships: { space: to(space) } });
    expect([answer.status, details(answer)]).toEqual([403, ["You are not authorized to perform the requested action"]]);
  });

  // The last tests: policies of the API server go on for a second after their deletion.
  describe("where the API server's policies judge", () => {
    async function enforce(template: string, constraint: Constraint): Promise<void> {
      const { spec } = await bench.testEnv.kube.get(PolicyTemplate, { name: template });
      await applyObjects(bench.testEnv.kube, toConstraintPolicies(spec, constraint, new Date()));
    }
    let attempt = 0;
    const answers = (replica: Replica, labels: Record<string, string>, expected: (answer: Answer) => void) =>
      eventually(async () => expected(await createApp(replica, `attempt-${attempt++}`, labelled(labels))));

    test("a denial has the same words", async () => {
      const constraint = await constrain("RequiredLabels", "owner-in-prod", { ...prod, ...owner });
      await enforce("requiredlabels", constraint);
      const [other] = bench.testEnv.replicas;
      await answers(other, {}, (answer) => expect([answer.status, details(answer)]).toEqual([422, [OWNER]]));
      expect(details(await createApp(judging, "by-both"))).toEqual([OWNER]);
    });

    test("a warning has the same words, once", async () => {
      const constraint = await constrain("RequiredLabels", "team", {
        parameters: { labels: [{ key: "team" }] },
        enforcement: { action: "warn" },
      });
      await enforce("requiredlabels", constraint);
      const [other] = bench.testEnv.replicas;
      const sentence = "Required labels: needs the label team (policy team)";
      for (const replica of [other, judging])
        await answers(replica, { owner: "ada" }, (answer) =>
          expect([answer.status, warningsOf(answer)]).toEqual([201, [sentence]]),
        );
    });
  });
}
