// Identities of callers: tokens, certificates as `cf` sends them, impersonation; and refused ones.
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import { type Answer, type ApiTestEnv, startApiTestEnv } from "./test-env.ts";

let world: ApiTestEnv;
beforeAll(async () => {
  world = await startApiTestEnv();
});
afterAll(() => world.stop());

const whoami = (headers: Record<string, string>): Promise<Answer> =>
  world.replicas[0].send("GET", "/whoami", { headers });

test("a bearer token, whatever the scheme's case", async () => {
  for (const scheme of ["bearer", "Bearer", "BEARER"])
    expect((await whoami({ authorization: `${scheme} ann-token` })).json).toEqual({ name: "ann", kind: "User" });
});

test("a client certificate with its key, as cf sends them; writes carry that identity", async () => {
  const { cert, key } = await world.issueClient("admin");
  const authorization = `ClientCert ${Buffer.from(cert + key).toString("base64")}`;
  expect((await whoami({ authorization })).json).toEqual({ name: "admin", kind: "User" });
  const made = await world.replicas[0].send("POST", "/v3/organizations", {
    body: { name: "by-certificate" },
    headers: { authorization },
  });
  expect(made.status).toBe(201);
});

test("a certificate counts until it ends, and not a moment longer, however lately it was reviewed", async () => {
  const { cert, key } = await world.issueClient("admin");
  const authorization = `ClientCert ${Buffer.from(cert + key).toString("base64")}`;
  const ends = new X509Certificate(cert).validToDate.getTime();
  let time = ends - 1000;
  const { send } = await world.replica("clock", { now: () => new Date(time) });
  expect((await send("GET", "/whoami", { headers: { authorization } })).status).toBe(200);
  time = ends + 1;
  expect((await send("GET", "/whoami", { headers: { authorization } })).status).toBe(401);
});

test("a certificate of another authority is refused", async () => {
  const { cert, key } = await issueCertificate(await makeAuthority("another"), {
    commonName: "admin",
    organizations: ["system:masters"],
  });
  const { status, json } = await whoami({ authorization: `ClientCert ${Buffer.from(cert + key).toString("base64")}` });
  expect([status, json.errors[0].title]).toEqual([401, "CF-InvalidAuthToken"]);
});

test.each([
  ["nothing", {}, "CF-NotAuthenticated"],
  ["an unknown token", { authorization: "bearer nobody" }, "CF-InvalidAuthToken"],
  ["Basic", { authorization: `Basic ${Buffer.from("admin:admin").toString("base64")}` }, "CF-InvalidAuthToken"],
  ["a certificate that is none", { authorization: "ClientCert aGVsbG8=" }, "CF-InvalidAuthToken"],
  [
    "an expired JWT",
    {
      authorization: `bearer ${[{ alg: "none" }, { exp: 1 }].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.x`,
    },
    "CF-InvalidAuthToken",
  ],
] as const)("%s is 401", async (_what, headers, title) => {
  const { status, json } = await whoami(headers);
  expect([status, json.errors[0].title]).toEqual([401, title]);
});

test("impersonation only where it is granted", async () => {
  const asked = { "impersonate-user": "ann" };
  expect((await whoami({ authorization: "bearer bob-token", ...asked })).status).toBe(403);
  const allowed = await whoami({ authorization: "bearer root-token", ...asked });
  expect([allowed.status, allowed.json]).toEqual([200, { name: "ann", kind: "User" }]);
  const refused = await world.replicas[0].send("POST", "/v3/organizations", {
    body: { name: "as-ann" },
    headers: { authorization: "bearer root-token", ...asked },
  });
  expect(refused.status).toBe(403);
});

test.each([
  ["who is known", { "impersonate-user": "ann" }, 1],
  ["nobody", { "impersonate-user": "system:anonymous" }, 0],
  ["who is said not to be known", { "impersonate-user": "ann", "impersonate-group": "system:unauthenticated" }, 0],
])("impersonating %s, what everybody who is known reads", async (_who, headers, stacks) => {
  const { json } = await world.replicas[0].send("GET", "/v3/stacks", {
    headers: { authorization: "bearer root-token", ...headers },
  });
  expect(json.resources).toHaveLength(stacks);
});

test("no credential in the log's reach: errors name none", async () => {
  const { json } = await whoami({ authorization: "bearer secret-that-nobody-knows" });
  expect(JSON.stringify(json)).not.toContain("secret-that-nobody-knows");
});

test("the platform's identity has no part in a tenant's write: its field manager acts with the caller's rights", async () => {
  const source = readFileSync(new URL("../../../api/access/session.ts", import.meta.url), "utf8");
  expect(source.match(/platform\.(create|update|patch|apply|delete)\(/g)).toBeNull();
});
