// The CF API on a real kube-apiserver that asks a webhook authorizer before RBAC and trusts an OIDC issuer: the three authorization modes, and who tokens are.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RoleBinding, Secret, SelfSubjectReview, ServiceAccount } from "../../../kube/api/builtin.ts";
import { AUTHORIZATION_MODES, type AuthorizationMode, REVIEW_TTL_MS } from "../../../api/access/access-reviewer.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { type ExternalAuth, startExternalAuth } from "./external-auth.ts";
import { type Answer, type ApiTestEnv, type TestUser, type Replica, startApiTestEnv } from "./test-env.ts";

const reason = whyNoControlPlane();

describe.skipIf(reason !== undefined)(`rights and users from outside${reason ? `: skipped, ${reason}` : ""}`, () => {
  let outside: ExternalAuth;
  let world: ApiTestEnv;
  const replicas = new Map<AuthorizationMode, Replica>();
  let clockAhead = 0;
  const real: Record<string, string> = {};
  let namespace = "";

  beforeAll(async () => {
    world = await startApiTestEnv(async (tokens, dir) => {
      outside = await startExternalAuth(dir);
      // Its administrator is root here: `admin` is a person of this world.
      const users = [...tokens]
        .filter(([token]) => token !== "admin-token")
        .map(([token, { name, groups }]) => ({ token, user: name, groups }));
      const plane = await startControlPlane({ users, apiserverFlags: outside.flags });
      return {
        url: plane.url,
        ca: plane.ca,
        issueClient: (user) => plane.issueClient({ commonName: user }),
        stop: () => plane.stop(),
      };
    });
    for (const mode of AUTHORIZATION_MODES)
      replicas.set(
        mode,
        await world.replica(mode, { authorization: mode, now: () => new Date(Date.now() + clockAhead) }),
      );
    await furnish();
  }, 180_000);
  afterAll(async () => {
    await world?.stop();
    await outside?.stop();
  });

  const to = (guid = ""): object => ({ data: { guid } });
  const by = (mode: AuthorizationMode): Replica => {
    const replica = replicas.get(mode);
    if (!replica) throw new Error(`no replica by ${mode}`);
    return replica;
  };
  const byMode = (ask: (mode: AuthorizationMode) => Promise<unknown>): Promise<unknown[]> =>
    Promise.all(AUTHORIZATION_MODES.map(ask));
  const appNames = async (mode: AuthorizationMode, person: TestUser): Promise<string[]> =>
    (await by(mode).call(person, "GET", "/v3/apps?order_by=name")).json.resources.map(
      (app: { name: string }) => app.name,
    );
  const statusOf =
    (person: TestUser, path: string) =>
    async (mode: AuthorizationMode): Promise<number> =>
      (await by(mode).call(person, "GET", path)).status;
  /** Ten seconds pass for what the replicas remember. */
  const forget = (): void => void (clockAhead += REVIEW_TTL_MS + 1);

  async function furnish(): Promise<void> {
    const make = async (path: string, body: unknown): Promise<string> => {
      const { status, json } = await by("rbac").call("admin", "POST", path, body);
      expect([status, json.errors]).toEqual([201, undefined]);
      return json.guid;
    };
    real["org"] = await make("/v3/organizations", { name: "org" });
    real["space"] = await make("/v3/spaces", { name: "space", relationships: { organization: to(real["org"]) } });
    for (const name of ["one", "two"])
      real[name] = await make("/v3/apps", { name, relationships: { space: to(real["space"]) } });
    await make("/v3/roles", {
      type: "organization_user",
      relationships: { user: { data: { username: "bob" } }, organization: to(real["org"]) },
    });
    await make("/v3/roles", {
      type: "space_developer",
      relationships: { user: { data: { username: "bob" } }, space: to(real["space"]) },
    });
    const { items } = (await world.kube.raw("GET", "/apis/cupola.dev/v1alpha1/apps")) as {
      items: { metadata: { namespace: string } }[];
    };
    namespace = items[0]?.metadata.namespace ?? "";
    await vi.waitFor(
      async () =>
        expect(await byMode((mode) => appNames(mode, "bob"))).toEqual([
          ["one", "two"],
          ["one", "two"],
          ["one", "two"],
        ]),
      { timeout: 20_000, interval: 200 },
    );
    forget();
  }

  test("who has no RBAC but the authorizer's yes for a namespace: seen where a no is reviewed", async () => {
    outside.decide = ({ user, namespace: asked }) => (user === "ann" && asked === namespace ? "allow" : undefined);
    expect(await byMode((mode) => appNames(mode, "ann"))).toEqual([[], ["one", "two"], ["one", "two"]]);
    expect(await byMode(statusOf("ann", `/v3/apps/${real["one"]}`))).toEqual([404, 200, 200]);
    expect(await byMode(statusOf("ann", `/v3/apps/${real["one"]}/environment_variables`))).toEqual([404, 200, 200]);
  });

  test("an answer is asked for once in ten seconds, and believed no longer", async () => {
    const replica = by("review");
    outside.decide = ({ user, namespace: asked }) => (user === "ann" && asked === namespace ? "allow" : undefined);
    forget();
    await appNames("review", "ann");
    replica.requests.length = 0;
    expect(await appNames("review", "ann")).toEqual(["one", "two"]);
    expect(replica.requests.filter(({ path }) => path.includes("subjectaccessreviews"))).toEqual([]);
    outside.decide = () => undefined;
    expect(await appNames("review", "ann")).toEqual(["one", "two"]);
    forget();
    expect(await byMode((mode) => appNames(mode, "ann"))).toEqual([[], [], []]);
  });

  test("a yes by name shows that object alone", async () => {
    forget();
    outside.decide = ({ user, resource, name }) =>
      user === "carl" && resource === "apps" && name.startsWith("one") ? "allow" : undefined;
    expect(await byMode((mode) => appNames(mode, "carl"))).toEqual([[], ["one"], ["one"]]);
    expect(await byMode(statusOf("carl", `/v3/apps/${real["two"]}`))).toEqual([404, 404, 404]);
  });

  test("who may by RBAC and is denied by the authorizer: refused where all is reviewed, and by the cluster everywhere", async () => {
    forget();
    outside.decide = ({ user, resource }) => (user === "bob" && resource === "apps" ? "deny" : undefined);
    expect(await byMode((mode) => appNames(mode, "bob"))).toEqual([["one", "two"], ["one", "two"], []]);
    expect(await byMode(statusOf("bob", `/v3/apps/${real["one"]}`))).toEqual([200, 200, 404]);
    const rename = await by("rbac").call("bob", "PATCH", `/v3/apps/${real["one"]}`, {
      metadata: { labels: { a: "b" } },
    });
    expect(rename.status).toBe(403);
    outside.decide = () => undefined;
  });

  test("writes that the webhook authorizer allows succeed", async () => {
    forget();
    outside.decide = ({ user, namespace: asked }) => (user === "ann" && asked === namespace ? "allow" : undefined);
    const create = async (mode: AuthorizationMode): Promise<number> =>
      (
        await by(mode).call("ann", "POST", "/v3/apps", {
          name: `by-${mode.replace("+", "-")}`,
          relationships: { space: to(real["space"]) },
        })
      ).status;
    // The space itself is in another namespace, of which nothing was said.
    expect(await byMode(create)).toEqual([422, 422, 422]);
    outside.decide = ({ user, namespace: asked, resource }) =>
      user === "ann" && (asked === namespace || ["spaces", "orgs"].includes(resource)) ? "allow" : undefined;
    forget();
    expect(await byMode(create)).toEqual([422, 201, 201]);
    const patch = async (mode: AuthorizationMode): Promise<unknown> => {
      const { status, json } = await by(mode).call("ann", "PATCH", `/v3/apps/${real["two"]}/environment_variables`, {
        var: { MODE: mode },
      });
      return [status, json.var?.MODE];
    };
    expect(await patch("rbac+review")).toEqual([200, "rbac+review"]);
    expect(await patch("review")).toEqual([200, "review"]);
    outside.decide = () => undefined;
  });

  test("a manifest makes app and route although nothing was known before", async () => {
    for (const mode of AUTHORIZATION_MODES) {
      forget();
      const name = `pushed-${mode.replace("+", "-")}`;
      const { status, headers } = await by(mode).send("POST", `/v3/spaces/${real["space"]}/actions/apply_manifest`, {
        body: `applications:\n- name: ${name}\n  default-route: true\n`,
        headers: { authorization: "bearer bob-token", "content-type": "application/x-yaml" },
      });
      expect([mode, status]).toEqual([mode, 202]);
      const job = await by(mode).call("bob", "GET", new URL(headers.get("location") ?? "").pathname);
      expect([mode, job.json.state, job.json.errors]).toEqual([mode, "COMPLETE", []]);
    }
  });

  const seconds = (ahead: number): number => Math.floor(Date.now() / 1000) + ahead;
  const bearer = (token: string, path: string): Promise<Answer> =>
    by("rbac").send("GET", path, { headers: { authorization: `bearer ${token}` } });

  test("a token of an issuer that kube-apiserver trusts: who it is, and its groups' rights", async () => {
    const token = await outside.token({ sub: "alice", groups: ["payments"], expires: seconds(600) });
    // kube-apiserver fetches the issuer's keys by itself, some seconds after its start.
    await vi.waitFor(
      async () => expect((await bearer(token, "/whoami")).json).toEqual({ name: "oidc:alice", kind: "User" }),
      { timeout: 30_000, interval: 500 },
    );
    const { status } = await world.kube.as({ kind: "token", token }).review(SelfSubjectReview, {});
    expect(status?.userInfo?.groups).toContain("oidc:payments");
    expect((await bearer(token, "/v3/apps")).json.resources).toEqual([]);
    await world.kube.create(RoleBinding, {
      metadata: { name: "payments", namespace },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cupola-space-auditor" },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "oidc:payments" }],
    });
    await vi.waitFor(async () => expect((await bearer(token, "/v3/apps")).json.resources.length).toBeGreaterThan(1), {
      timeout: 5000,
      interval: 50,
    });
  });

  test.each([
    ["an expired token", -60, "cupola"],
    ["a token for another audience", 600, "elsewhere"],
  ])("%s is 401", async (_what, expires, audience) => {
    const token = await outside.token({ sub: "alice", expires: seconds(expires), audience });
    const { status, json } = await bearer(token, "/v3/apps");
    expect([status, json.errors[0].title]).toEqual([401, "CF-InvalidAuthToken"]);
  });

  test("a token whose Secret is deleted is accepted for a minute at most", async () => {
    await world.kube.create(ServiceAccount, { metadata: { name: "bot", namespace } });
    await world.kube.create(Secret, { metadata: { name: "bot-session", namespace } });
    const request = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { boundObjectRef: { apiVersion: "v1", kind: "Secret", name: "bot-session" } },
    };
    const { status } = (await world.kube.raw(
      "POST",
      `/api/v1/namespaces/${namespace}/serviceaccounts/bot/token`,
      request,
    )) as { status: { token: string } };
    expect((await bearer(status.token, "/whoami")).json).toEqual({
      name: `system:serviceaccount:${namespace}:bot`,
      kind: "ServiceAccount",
    });
    await world.kube.delete(Secret, { name: "bot-session", namespace });
    clockAhead += 60_001;
    await vi.waitFor(
      async () => {
        // kube-apiserver remembers a token for ten seconds of its own.
        clockAhead += 60_001;
        expect((await bearer(status.token, "/whoami")).status).toBe(401);
      },
      { timeout: 20_000, interval: 500 },
    );
  });

  test("a token that expires while its review is remembered is 401 from then on", async () => {
    const token = await outside.token({ sub: "alice", expires: seconds(30) + Math.ceil(clockAhead / 1000) });
    expect((await bearer(token, "/whoami")).status).toBe(200);
    clockAhead += 31_000;
    expect((await bearer(token, "/whoami")).status).toBe(401);
  });
});
