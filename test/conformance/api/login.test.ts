// Login with a token of Kubernetes: grants, what a login token opens and what it does not, keys and their rotation, limits.
import { decodeJwt, decodeProtectedHeader, jwtVerify, createLocalJWKSet, type JSONWebKeySet } from "jose";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LOGIN_KEYS } from "../../../api/identity/login-keys.ts";
import { createSSHCodes } from "../../../api/identity/ssh-codes.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { type Answer, type ApiTestEnv, type Replica, startApiTestEnv } from "./test-env.ts";

const HOSTS = { tokenLoginHosts: ["login.localhost", "127.0.0.1"] };
const SECRET = { namespace: SYSTEM_NAMESPACE, name: LOGIN_KEYS.secretName };
const CF = `Basic ${Buffer.from("cf:").toString("base64")}`;

let world: ApiTestEnv;
let replica: Replica;
let clockAhead = 0;
beforeAll(async () => {
  world = await startApiTestEnv();
  replica = await world.replica("login", { login: HOSTS, now: () => new Date(Date.now() + clockAhead) });
});
afterAll(() => world.stop());

const ask = (fields: Record<string, string>, headers: Record<string, string> = {}, at = replica): Promise<Answer> =>
  at.send("POST", "/oauth/token", {
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", authorization: CF, ...headers },
  });
const logIn = (name: string): Promise<Answer> =>
  ask({ grant_type: "password", username: name, password: `${name}-token` });
const whoami = (token: string, at = replica): Promise<Answer> =>
  at.send("GET", "/whoami", { headers: { authorization: `bearer ${token}` } });
const accessTokenOf = async (name: string): Promise<string> => (await logIn(name)).json.access_token;

describe("a login", () => {
  test("gives tokens with what clients read, and says nothing of the credential", async () => {
    const { status, json, headers } = await logIn("ann");
    expect([status, headers.get("cache-control"), json.token_type, json.expires_in]).toEqual([
      200,
      "no-store",
      "bearer",
      600,
    ]);
    expect(decodeJwt(json.access_token)).toMatchObject({
      user_name: "ann",
      user_id: "ann",
      origin: "kubernetes",
      client_id: "cf",
      scope: ["cloud_controller.read", "cloud_controller.write", "openid"],
      iss: `${replica.url}/oauth/token`,
      jti: json.jti,
    });
    expect(JSON.stringify([decodeJwt(json.access_token), decodeJwt(json.refresh_token)])).not.toContain("ann-token");
  });

  test("names an admin by the scope", async () => {
    expect(decodeJwt(await accessTokenOf("admin"))["scope"]).toContain("cloud_controller.admin");
  });

  test("opens requests as that user, to read and to write, at every replica", async () => {
    const token = await accessTokenOf("admin");
    for (const at of [replica, ...world.replicas])
      expect((await whoami(token, at)).json).toEqual({ name: "admin", kind: "User" });
    const made = await replica.send("POST", "/v3/organizations", {
      body: { name: "by-login" },
      headers: { authorization: `bearer ${token}` },
    });
    expect(made.status).toBe(201);
  });

  test.each([
    ["no name", { grant_type: "password", username: "", password: "ann-token" }],
    ["client credentials", { grant_type: "client_credentials", client_id: "ann", client_secret: "ann-token" }],
    ["an assertion", { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: "ann-token" }],
  ])("by %s", async (_what, fields) => {
    const { json } = await ask(fields);
    expect((await whoami(json.access_token)).json.name).toBe("ann");
    expect("refresh_token" in json).toBe(fields.grant_type !== "client_credentials");
  });

  test("refreshes, after the access token's end, too", async () => {
    const { json } = await logIn("ann");
    try {
      clockAhead = 601_000;
      expect((await whoami(json.access_token)).status).toBe(401);
      const refreshed = await ask({ grant_type: "refresh_token", refresh_token: json.refresh_token });
      expect((await whoami(refreshed.json.access_token)).json.name).toBe("ann");
    } finally {
      clockAhead = 0;
    }
  });

  test("gives a token that opens nothing to a client that refreshes a token it never got", async () => {
    const { status, json } = await ask({ grant_type: "refresh_token", refresh_token: "" });
    expect([status, json.refresh_token]).toEqual([200, ""]);
    expect((await whoami(json.access_token)).status).toBe(401);
  });

  test("signs such a token once in a while: anybody may ask for one", async () => {
    const empty = { grant_type: "refresh_token", refresh_token: "" };
    const [one, two] = [await ask(empty), await ask(empty, { host: "elsewhere.example" })];
    expect(two.json.access_token).toBe(one.json.access_token);
    expect((await ask({ ...empty, client_id: "another" })).status).toBe(400);
  });
});

describe("refused", () => {
  test.each([
    ["a wrong password", { grant_type: "password", username: "ann", password: "nobody-knows-it" }, "unauthorized"],
    ["another user's password", { grant_type: "password", username: "ann", password: "bob-token" }, "unauthorized"],
    [
      "another client's secret",
      { grant_type: "client_credentials", client_id: "ann", client_secret: "bob-token" },
      "unauthorized",
    ],
    ["a refresh token that is none", { grant_type: "refresh_token", refresh_token: "a.b.c" }, "invalid_token"],
  ])("%s", async (_what, fields, error) => {
    const { status, json, text } = await ask(fields);
    expect([status, json.error]).toEqual([401, error]);
    for (const secret of ["nobody-knows-it", "bob-token"]) expect(text).not.toContain(secret);
  });

  test("an access token as refresh token, and a refresh token as access token", async () => {
    const { json } = await logIn("ann");
    expect((await ask({ grant_type: "refresh_token", refresh_token: json.access_token })).status).toBe(401);
    expect((await whoami(json.refresh_token)).status).toBe(401);
  });

  test("a login token as a password: nothing is sealed twice", async () => {
    const token = await accessTokenOf("ann");
    expect((await ask({ grant_type: "password", username: "ann", password: token })).status).toBe(401);
  });

  test("a token with a changed bit, in each of its parts", async () => {
    const token = await accessTokenOf("ann");
    const parts = token.split(".");
    for (const at of [0, 1, 2]) {
      const changed = parts.map((part, index) => (index === at ? flip(part) : part)).join(".");
      expect((await whoami(changed)).status).toBe(401);
    }
  });

  test("a token without a signature", async () => {
    const [, payload] = (await accessTokenOf("ann")).split(".");
    const { kid } = decodeProtectedHeader(await accessTokenOf("ann"));
    const header = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT", kid })).toString("base64url");
    expect((await whoami(`${header}.${payload}.`)).status).toBe(401);
  });

  test("a token of another installation, which Kubernetes is not asked about", async () => {
    const other = await startApiTestEnv();
    try {
      const { json } = await ask({ grant_type: "password", password: "ann-token" }, {}, other.replicas[0]);
      replica.requests.length = 0;
      expect((await whoami(json.access_token)).status).toBe(401);
      expect(replica.requests.filter(({ path }) => path.includes("tokenreviews"))).toEqual([]);
      const refresh = await ask({ grant_type: "refresh_token", refresh_token: json.refresh_token });
      expect(refresh.status).toBe(401);
    } finally {
      await other.stop();
    }
  });

  const from = (address: string) => ({ "x-forwarded-for": `203.0.113.7, ${address}` });
  let wrong = 0;
  const fail = (address: string): Promise<Answer> =>
    ask({ grant_type: "password", username: "ann", password: `wrong-${(wrong += 1)}` }, from(address));

  test("the 31st failure of an address within a minute; others log in, and a login there goes on", async () => {
    const { json: tokens } = await ask({ grant_type: "password", password: "bob-token" }, from("198.51.100.1"));
    for (let i = 0; i < 30; i += 1) expect((await fail("198.51.100.1")).status).toBe(401);
    const { status, json, headers } = await fail("198.51.100.1");
    expect([status, json.error, Number(headers.get("retry-after")) > 0]).toEqual([429, "too_many_requests", true]);
    const other = await ask({ grant_type: "password", password: "ann-token" }, from("198.51.100.2"));
    expect(other.status).toBe(200);
    const refresh = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
    expect((await ask(refresh, from("198.51.100.1"))).status).toBe(200);
  });

  test("refresh tokens that are none lock out nobody, and Kubernetes is not asked about them", async () => {
    replica.requests.length = 0;
    const answers = Array.from({ length: 40 }, () =>
      ask({ grant_type: "refresh_token", refresh_token: "a.b.c" }, from("198.51.100.3")),
    );
    expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([401]));
    expect(replica.requests.filter(({ path }) => path.includes("tokenreviews"))).toEqual([]);
    const login = await ask({ grant_type: "password", password: "ann-token" }, from("198.51.100.3"));
    expect(login.status).toBe(200);
  });

  test("20 addresses that fail lock out nobody who logged in before", async () => {
    expect((await ask({ grant_type: "password", password: "ann-token" }, from("198.51.100.4"))).status).toBe(200);
    await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        for (let i = 0; i < 30; i += 1) await fail(`192.0.2.${at}`);
      }),
    );
    expect((await fail("192.0.2.200")).status).toBe(429);
    expect((await ask({ grant_type: "password", password: "ann-token" }, from("192.0.2.201"))).status).toBe(200);
    expect((await ask({ grant_type: "password", password: "admin-token" }, from("198.51.100.4"))).status).toBe(200);
  });
});

describe("questions about tokens", () => {
  const post = (path: string, token: string): Promise<Answer> =>
    replica.send("POST", path, { body: new URLSearchParams({ token }).toString(), headers: {} });

  test("the published keys verify a token", async () => {
    const token = await accessTokenOf("ann");
    const { json } = await replica.send("GET", "/token_keys", {});
    const { payload } = await jwtVerify(token, createLocalJWKSet(json as JSONWebKeySet), {
      issuer: `${replica.url}/oauth/token`,
      audience: "cloud_controller",
    });
    expect(payload["user_name"]).toBe("ann");
    const { json: key } = await replica.send("GET", "/token_key", {});
    expect([key.kid, key.value]).toEqual([json.keys[0].kid, expect.stringMatching(/^-----BEGIN PUBLIC KEY-----/)]);
    expect(JSON.stringify(json)).not.toContain('"d"');
  });

  test("the discovery document is below the issuer", async () => {
    const issuer = `${replica.url}/oauth/token`;
    const { json } = await replica.send("GET", "/oauth/token/.well-known/openid-configuration", {});
    expect(json).toMatchObject({ issuer, jwks_uri: `${replica.url}/token_keys`, token_endpoint: issuer });
  });

  test("introspection and check_token: the claims of a valid token only", async () => {
    const token = await accessTokenOf("ann");
    expect((await post("/introspect", token)).json).toMatchObject({ active: true, user_name: "ann" });
    expect((await post("/introspect", "a.b.c")).json).toEqual({ active: false });
    expect((await post("/check_token", token)).json.user_id).toBe("ann");
    expect((await post("/check_token", "a.b.c")).status).toBe(400);
    expect((await post("/introspect", token)).text).not.toContain("sealed");
  });

  test("userinfo", async () => {
    const headers = { authorization: `bearer ${await accessTokenOf("ann")}` };
    expect((await replica.send("GET", "/userinfo", { headers })).json).toMatchObject({ user_id: "ann", sub: "ann" });
  });
});

describe("the root document", () => {
  const root = async (at: Replica): Promise<Answer["json"]> => (await at.send("GET", "/", {})).json;

  test("under a host of token login has no kubeconfig mode", async () => {
    const { links, ...rest } = await root(replica);
    expect([rest, links.login.href, links.uaa.href]).toEqual([{}, replica.url, replica.url]);
  });

  test("elsewhere has it", async () => {
    expect((await root(world.replicas[0])).cf_on_k8s).toBe(true);
  });

  test("names an existing UAA", async () => {
    const uaa = await world.replica("uaa", {
      login: { ...HOSTS, loginURL: "https://login.uaa.example", uaaURL: "https://uaa.example" },
    });
    const { links } = await root(uaa);
    expect([links.login.href, links.uaa.href]).toEqual(["https://login.uaa.example", "https://uaa.example"]);
  });
});

describe("cf ssh", () => {
  const codes = (): ReturnType<typeof createSSHCodes> =>
    createSSHCodes({ client: world.kube, now: () => new Date(Date.now() + clockAhead) });
  const withSSH = (login = HOSTS): Promise<Replica> =>
    world.replica("ssh", {
      login,
      ssh: { codes: codes(), address: "ssh.example:2222", fingerprint: () => Promise.resolve("f".repeat(43)) },
    });
  /** Does not follow the answer. */
  const authorize = async (at: Replica, query: string, authorization?: string) => {
    const headers = authorization ? { authorization } : {};
    const answer = await request(`${at.url}/oauth/authorize?${query}`, { headers });
    await answer.body.dump();
    return { status: answer.statusCode, location: answer.headers["location"], cached: answer.headers["cache-control"] };
  };
  const CODE = "response_type=code&client_id=ssh-proxy";

  test("the root names the proxy and its key under a host of token login alone", async () => {
    const at = await withSSH();
    const link = {
      href: "ssh.example:2222",
      meta: { host_key_fingerprint: "f".repeat(43), oauth_client: "ssh-proxy" },
    };
    expect((await at.send("GET", "/", {})).json.links.app_ssh).toEqual(link);
    const elsewhere = await withSSH({ tokenLoginHosts: [] });
    expect((await elsewhere.send("GET", "/", {})).json.links.app_ssh).toBeNull();
    expect((await at.send("GET", "/v2/info", {})).json).toMatchObject({
      app_ssh_endpoint: "ssh.example:2222",
      app_ssh_oauth_client: "ssh-proxy",
    });
  });

  test("a code says who asked, and goes to no address that the request names", async () => {
    const at = await withSSH();
    const query = `${CODE}&redirect_uri=https://evil.example`;
    const answer = await authorize(at, query, `bearer ${await accessTokenOf("ann")}`);
    const location = new URL(String(answer.location));
    expect([answer.status, location.origin, answer.cached]).toEqual([302, at.url, "no-store"]);
    const opened = await codes().redeem(location.searchParams.get("code") ?? "");
    expect(opened).toMatchObject({ name: "ann", groups: expect.arrayContaining(["system:authenticated"]) as string[] });
  });

  test.each([
    ["nobody", CODE, () => Promise.resolve(""), 400],
    ["a token that is none", CODE, () => Promise.resolve("bearer nobody-knows-it"), 401],
    ["another client", "response_type=code&client_id=cf", async () => `bearer ${await accessTokenOf("ann")}`, 400],
    [
      "a token in place of a code",
      "response_type=token&client_id=ssh-proxy",
      () => Promise.resolve("bearer ann-token"),
      400,
    ],
  ] as const)("no code for %s", async (_what, query, credential, expected) => {
    const { status, location } = await authorize(await withSSH(), query, await credential());
    expect([status, location]).toEqual([expected, undefined]);
  });

  test("one user gets so many codes a minute, and others still get theirs", async () => {
    const at = await withSSH();
    const token = await accessTokenOf("ann");
    const answers = await Promise.all(Array.from({ length: 40 }, () => authorize(at, CODE, `bearer ${token}`)));
    expect(answers.filter(({ status }) => status === 302)).toHaveLength(30);
    expect((await authorize(at, CODE, `bearer ${await accessTokenOf("bob")}`)).status).toBe(302);
  });

  test("a code opens no request, and is no password", async () => {
    const code = (await codes().make({ name: "admin", groups: ["system:masters"] })) ?? "";
    expect((await whoami(code)).status).toBe(401);
    expect((await ask({ grant_type: "password", password: code })).status).toBe(401);
    expect((await ask({ grant_type: "refresh_token", refresh_token: code })).status).toBe(401);
  });
});

describe("rotation of the keys", () => {
  test("tokens of the last pair stay valid, tokens of the one before end; no replica refuses a new one", async () => {
    const rotate = async (): Promise<unknown> => {
      const secret = await world.kube.get(Secret, SECRET);
      return world.kube.update(Secret, { ...secret, data: { previous: secret.data?.["current"] ?? "" } });
    };
    const first = await accessTokenOf("ann");
    await rotate();
    // Each process does so twice a minute.
    await LOGIN_KEYS.refresh(world.kube);
    const second = (await ask({ grant_type: "password", password: "ann-token" }, {}, await world.replica("new", {})))
      .json.access_token;
    expect(decodeProtectedHeader(second).kid).not.toBe(decodeProtectedHeader(first).kid);
    clockAhead = 6_000;
    expect((await whoami(second)).status).toBe(200);
    expect((await whoami(first)).status).toBe(200);
    await rotate();
    await LOGIN_KEYS.refresh(world.kube);
    const third = (await ask({ grant_type: "password", password: "ann-token" }, {}, await world.replica("newer", {})))
      .json.access_token;
    clockAhead = 12_000;
    expect((await whoami(third)).status).toBe(200);
    expect((await whoami(first)).status).toBe(401);
    clockAhead = 0;
  });
});

/** With another character in its middle, which changes bits of the decoded value. */
function flip(part: string): string {
  const at = Math.floor(part.length / 2);
  return part.slice(0, at) + (part[at] === "A" ? "B" : "A") + part.slice(at + 1);
}
