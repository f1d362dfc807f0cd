// Users of an issuer that the API server does not trust: verified by the CF API, then spoken for by impersonation. On the embedded server and on kube-apiserver.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { IMPERSONATOR_ROLE, type TokenIssuerSettings } from "../../../api/identity/token-issuer.ts";
import { ADMIN_CLUSTER_ROLE } from "../../../crds/roles.ts";
import {
  ClusterRole,
  ClusterRoleBinding,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../../kube/api/builtin.ts";
import { toImpersonatorRole } from "../../../platform/operations/permissions.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { type ExternalAuth, startExternalAuth } from "./external-auth.ts";
import { type Answer, type ApiTestEnv, type Cluster, type Replica, startApiTestEnv, type Tokens } from "./test-env.ts";

const RBAC = "rbac.authorization.k8s.io";
const reason = whyNoControlPlane();
if (reason) console.log(`users of an issuer on kube-apiserver: not run, ${reason}`);

const servers: [name: string, start?: (tokens: Tokens) => Promise<Cluster>][] = [
  ["the embedded server"],
  ...(reason ? [] : [["kube-apiserver", startKubeApiserver] as [string, typeof startKubeApiserver]]),
];

async function startKubeApiserver(tokens: Tokens): Promise<Cluster> {
  const users = [...tokens]
    .filter(([token]) => token !== "admin-token")
    .map(([token, { name, groups }]) => ({ token, user: name, groups }));
  const plane = await startControlPlane({ users });
  return {
    url: plane.url,
    ca: plane.ca,
    issueClient: (user) => plane.issueClient({ commonName: user }),
    stop: () => plane.stop(),
  };
}

const seconds = (ahead: number): number => Math.floor(Date.now() / 1000) + ahead;
const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

describe.each(servers)("users of an issuer on %s", (_name, start) => {
  let dir: string;
  let issuer: ExternalAuth;
  let world: ApiTestEnv;
  let replica: Replica;
  let settings: TokenIssuerSettings;
  let clockAhead = 0;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "cupola-issuer-"));
    issuer = await startExternalAuth(dir);
    world = await startApiTestEnv(start);
    settings = {
      url: issuer.url,
      ca: issuer.ca,
      audience: "cupola",
      userClaim: "user_name",
      groupsClaim: "groups",
      prefix: "uaa:",
    };
    replica = await world.replica("issuer", { tokenIssuer: settings, now: () => new Date(Date.now() + clockAhead) });
    await world.kube.create(ClusterRole, toImpersonatorRole());
  }, 180_000);
  afterAll(async () => {
    await world?.stop();
    await issuer?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const token = (
    user: string,
    { groups = [] as string[], expires = seconds(600), audience = "cupola", claims = {} } = {},
  ): Promise<string> =>
    issuer.token({ sub: `id-of-${user}`, groups, expires, audience, claims: { user_name: user, ...claims } });
  const endless = (): Promise<string> =>
    issuer.token({ sub: "1", audience: "cupola", expires: undefined, claims: { user_name: "ann" } });
  const by = (given: string): Record<string, string> => ({ authorization: `bearer ${given}` });
  const whoami = (given: string, at = replica): Promise<Answer> => at.send("GET", "/whoami", { headers: by(given) });
  const makeOrg = (given: string, name: string): Promise<Answer> =>
    replica.send("POST", "/v3/organizations", { body: { name }, headers: by(given) });
  const bind = (name: string, role: string, subject: { kind: string; name: string }): Promise<unknown> =>
    world.kube.create(ClusterRoleBinding, {
      metadata: { name },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
      subjects: [{ apiGroup: RBAC, ...subject }],
    });

  test("off unless it is asked for", async () => {
    expect((await whoami(await token("ann"), world.replicas[0])).status).toBe(401);
  });

  test("without the right to impersonate: 503, and it names the ClusterRole; others are served", async () => {
    const { status, json } = await whoami(await token("ann"));
    expect([status, json.errors[0].detail]).toEqual([503, expect.stringContaining(`ClusterRole ${IMPERSONATOR_ROLE}`)]);
    expect((await whoami("bob-token")).status).toBe(200);
  });

  test("with it: a user by the prefix, not the cluster's user of that name", async () => {
    await bind("impersonator", IMPERSONATOR_ROLE, { kind: "User", name: "platform" });
    const given = await token("ann");
    await vi.waitFor(async () => expect((await whoami(given)).json).toEqual({ name: "uaa:ann", kind: "User" }), {
      timeout: 5000,
      interval: 50,
    });
    // `admin` may do anything here.
    const admin = await token("admin");
    expect((await whoami(admin)).json.name).toBe("uaa:admin");
    expect((await makeOrg(admin, "as-the-clusters-admin")).status).toBe(403);
  });

  test("a group of the claim has the rights that RBAC gives to it, to read and to write", async () => {
    const [ops, plain] = [await token("olga", { groups: ["ops", "dev"] }), await token("paul", { groups: ["dev"] })];
    await bind("ops", ADMIN_CLUSTER_ROLE, { kind: "Group", name: "uaa:ops" });
    await vi.waitFor(async () => expect((await makeOrg(ops, "by-ops")).status).toBe(201), {
      timeout: 5000,
      interval: 100,
    });
    const orgs = async (given: string): Promise<string[]> =>
      (await replica.send("GET", "/v3/organizations", { headers: by(given) })).json.resources.map(
        (org: { name: string }) => org.name,
      );
    expect([await orgs(ops), await orgs(plain)]).toEqual([["by-ops"], []]);
    expect((await makeOrg(plain, "by-dev")).status).toBe(403);
  });

  test("a write reaches the API server as that user with those groups, no more", async () => {
    const name = "witness";
    await world.kube.create(ValidatingAdmissionPolicy, {
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["cupola.dev"], apiVersions: ["*"], operations: ["CREATE"], resources: ["orgs"] },
          ],
        },
        matchConditions: [{ name: "witness", expression: "request.userInfo.username.endsWith('witness')" }],
        validations: [
          {
            expression: "false",
            reason: "Invalid",
            messageExpression: "'seen: ' + request.userInfo.username + ' in ' + request.userInfo.groups.join(' ')",
          },
        ],
      },
    });
    await world.kube.create(ValidatingAdmissionPolicyBinding, {
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    });
    const given = await token("witness", { groups: ["ops", "dev"] });
    let attempt = 0;
    await vi.waitFor(
      async () => {
        const { status, text } = await makeOrg(given, `witnessed-${attempt++}`);
        expect([status, text]).toEqual([
          422,
          expect.stringContaining("seen: uaa:witness in uaa:ops uaa:dev system:authenticated"),
        ]);
      },
      { timeout: 10_000, interval: 200 },
    );
  });

  test.each<[string, () => Promise<string>]>([
    ["system:masters among the groups", () => token("ann", { groups: ["dev", "system:masters"] })],
    ["a user of the cluster's own", () => token("system:admin")],
    ["another audience", () => token("ann", { audience: "elsewhere" })],
    ["another issuer", () => forge({ iss: "https://issuer.example" })],
    ["an expired token", () => token("ann", { expires: seconds(-1) })],
    ["a token for later", () => token("ann", { claims: { nbf: seconds(300) } })],
    ["no user", () => token("ann", { claims: { user_name: undefined } })],
    ["a refresh token of UAA", () => token("ann", { claims: { jti: `${"0".repeat(32)}-r` } })],
    ["a signature by another key", () => forge({})],
    ["no end", endless],
    ["no signature", () => Promise.resolve(`${encode({ alg: "none" })}.${encode(payload())}.`)],
    [
      "a signature that everybody can make",
      () =>
        new SignJWT(payload())
          .setProtectedHeader({ alg: "HS256", kid: "one" })
          .sign(new TextEncoder().encode("secret")),
    ],
  ])("%s is 401", async (_what, make) => {
    const { status, json } = await whoami(await make());
    expect([status, json.errors[0].title]).toEqual([401, "CF-InvalidAuthToken"]);
  });

  const payload = (): Record<string, unknown> => ({
    iss: issuer.url,
    aud: "cupola",
    sub: "1",
    user_name: "ann",
    exp: seconds(600),
  });
  async function forge(claims: Record<string, unknown>): Promise<string> {
    const { privateKey } = await generateKeyPair("RS256");
    return new SignJWT({ ...payload(), ...claims }).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(privateKey);
  }

  test("an impersonated user cannot impersonate others", async () => {
    await bind("root-of-the-issuer", "cluster-admin", { kind: "User", name: "uaa:root" });
    const headers = { ...by(await token("root")), "impersonate-user": "ann" };
    expect((await replica.send("GET", "/whoami", { headers })).status).toBe(403);
  });

  test("a token counts until it ends and not a moment longer, however lately it was verified", async () => {
    const given = await token("ann", { expires: seconds(30) });
    expect((await whoami(given)).status).toBe(200);
    onTestFinished(() => void (clockAhead = 0));
    clockAhead = 31_000;
    expect((await whoami(given)).status).toBe(401);
  });

  test("a new key of the issuer counts in seconds, and the old one no more", async () => {
    const old = await token("late");
    await issuer.rotate();
    await vi.waitFor(
      async () => expect((await whoami(await token("ann", { claims: { jti: `${Math.random()}` } }))).status).toBe(200),
      { timeout: 15_000, interval: 500 },
    );
    expect((await whoami(old)).status).toBe(401);
  });

  test("an issuer that does not answer: 503 for its tokens alone", async () => {
    const url = "https://127.0.0.1:1";
    const lost = await world.replica("lost", { tokenIssuer: { ...settings, url } });
    const { status, json } = await whoami(await forge({ iss: url }), lost);
    expect([status, json.errors[0].detail]).toEqual([503, expect.stringContaining("token issuer does not answer")]);
    expect((await whoami("bob-token", lost)).status).toBe(200);
  });

  test("without the right no user is impersonated after a minute", async () => {
    const given = await token("ann");
    expect((await whoami(given)).status).toBe(200);
    await world.kube.delete(ClusterRoleBinding, { name: "impersonator" });
    clockAhead = 60_001;
    await vi.waitFor(
      async () => {
        clockAhead += 60_001;
        expect((await whoami(await token("ann", { expires: seconds(6000) }))).status).toBe(503);
      },
      { timeout: 5000, interval: 100 },
    );
  });
});
