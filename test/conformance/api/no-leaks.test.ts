// No credential and no value of an app gets into a log or an error, whatever the caller sends and however the Kubernetes API fails meanwhile.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createNetServer } from "node:net";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { Agent, request as send } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { recordLastWrite } from "../../../api/cache/object-times.ts";
import { API_FIELD_MANAGER } from "../../../crds/groups.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { type Answer, type ApiTestEnv, type Replica, startApiTestEnv } from "./test-env.ts";

const SECRETS = {
  platform: "platform-token",
  caller: "admin-token",
  bearer: "hunter2-as-token",
  basic: "hunter2-as-basic",
  value: "hunter2-as-value",
  registry: "hunter2-of-registry",
  url: "hunter2-in-url",
};
/** The middle of a private key's PEM. */
const keys: string[] = [];

/** Proxy between this replica and the API server, and its behaviour towards requests other than watches. */
const MODES = [
  "calm",
  "hang-up",
  "garbage",
  "half an answer",
  "echo",
  "echo as the client's fault",
  "refusal",
] as const;
type Mode = (typeof MODES)[number];

let world: ApiTestEnv;
let replica: Replica;
let mode: Mode = "calm";
let app = "";
let space = "";
const lines: string[] = [];
const errors: string[] = [];
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  world = await startApiTestEnv();
  const server = await startBetween(world.cluster);
  const client = createClient({
    server,
    auth: { kind: "token", token: SECRETS.platform },
    fieldManager: API_FIELD_MANAGER,
  });
  const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  const informers = createInformers({ client, log, transform: recordLastWrite });
  ends.push(
    () => informers.close(),
    () => client.close(),
  );
  replica = await world.replica("leaks", { client, informers, log });
  const make = async (path: string, body: unknown): Promise<string> =>
    (await replica.call("admin", "POST", path, body)).json.guid;
  const org = await make("/v3/organizations", { name: "org" });
  space = await make("/v3/spaces", { name: "space", relationships: { organization: { data: { guid: org } } } });
  app = await make("/v3/apps", {
    name: "app",
    environment_variables: { A: SECRETS.value },
    relationships: { space: { data: { guid: space } } },
  });
});
afterAll(async () => {
  await world?.stop();
  for (const end of ends) await end();
});

/** Passes everything on in calm, and spoils the answers to what is no watch otherwise. */
async function startBetween(cluster: { url: string; ca: string }): Promise<string> {
  const agent = new Agent({ connect: { ca: cluster.ca }, bodyTimeout: 0 });
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const watching = request.url?.includes("watch=true") ?? false;
    if (mode !== "calm" && !watching) return spoil(mode, { request, response, body });
    const { host: _host, connection: _connection, ...headers } = request.headers;
    const answer = await send(cluster.url + (request.url ?? ""), {
      dispatcher: agent,
      method: request.method as "GET",
      headers,
      ...(body.length > 0 && { body }),
    });
    response.writeHead(answer.statusCode, { "content-type": answer.headers["content-type"] as string });
    response.on("close", () => answer.body.destroy());
    answer.body.on("error", () => response.destroy()).pipe(response);
  };
  const server = createServer((request, response) => void pass(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await agent.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function spoil(
  how: Exclude<Mode, "calm">,
  { request, response, body }: { request: IncomingMessage; response: ServerResponse; body: Buffer },
): void {
  const echo = `${JSON.stringify(request.headers)} ${body.toString("utf8")}`;
  const json = { "content-type": "application/json" };
  const answers = {
    "hang-up": () => response.destroy(),
    // JSON.parse quotes text that it cannot parse.
    garbage: () => response.writeHead(200, json).end(`${SECRETS.value} ${echo}`),
    "half an answer": () => response.writeHead(200, json).end(`{"kind":"Secret","data":{"A":"${SECRETS.value}`),
    echo: () => response.writeHead(502, { "content-type": "text/plain" }).end(echo),
    "echo as the client's fault": () => response.writeHead(400, { "content-type": "text/plain" }).end(echo),
    refusal: () =>
      response.writeHead(500, json).end(
        JSON.stringify({
          kind: "Status",
          apiVersion: "v1",
          status: "Failure",
          code: 500,
          reason: "InternalError",
          message: "etcdserver: leader changed",
        }),
      ),
  };
  answers[how]();
}

/** Which of them a text holds: as they are, in base64 or in a URL. */
function found(text: string): string[] {
  const forms = (secret: string): string[] => [
    secret,
    Buffer.from(secret).toString("base64").replace(/=+$/, ""),
    encodeURIComponent(secret),
  ];
  return [...Object.values(SECRETS), "hunter2", ...keys].filter((secret) =>
    forms(secret).some((form) => text.includes(form)),
  );
}

async function ask(
  method: string,
  path: string,
  message: { body?: unknown; authorization?: string } = {},
): Promise<Answer> {
  const { body, authorization = `bearer ${SECRETS.caller}` } = message;
  const answer = await replica.send(method, path, {
    body,
    headers: {
      authorization,
      ...(typeof body === "string" && body.startsWith("applications") && { "content-type": "application/x-yaml" }),
    },
  });
  if (answer.status >= 400) errors.push(`${answer.text} ${JSON.stringify([...answer.headers])}`);
  return answer;
}

interface Call {
  method: string;
  path: string;
  body?: unknown;
  authorization?: string;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

async function certificates(): Promise<Call[]> {
  const ours = await world.issueClient("admin");
  const theirs = await issueCertificate(await makeAuthority("another"), { commonName: "admin" });
  keys.push(...[ours.key, theirs.key].map((key) => key.split("\n")[1] ?? ""));
  const broken = `${ours.cert.replace(/[A-Za-z]{8}/, "AAAAAAAA")}${theirs.key}`;
  return [ours.cert + ours.key, theirs.cert + theirs.key, ours.cert + theirs.key, broken, ours.key].map((pem) => ({
    method: "GET",
    path: "/v3/apps",
    authorization: `ClientCert ${base64(pem)}`,
  }));
}

/** Each with a secret in it, in a place where it belongs or where it does not. */
async function calls(): Promise<Call[]> {
  const variables = `/v3/apps/${app}/environment_variables`;
  const value = SECRETS.value;
  const url = `https://user:${SECRETS.url}@example.com/buildpack`;
  const near = { space: { data: { guid: space } } };
  return [
    { method: "GET", path: "/v3/apps", authorization: `bearer ${SECRETS.bearer}` },
    { method: "GET", path: "/v3/apps", authorization: `bearer ${SECRETS.bearer}\u00e9` },
    { method: "GET", path: "/v3/apps", authorization: `Basic ${base64(`admin:${SECRETS.basic}`)}` },
    { method: "GET", path: "/v3/apps", authorization: `Token ${SECRETS.bearer}` },
    ...(await certificates()),
    { method: "GET", path: variables },
    { method: "PATCH", path: variables, body: { var: { B: value } } },
    { method: "PATCH", path: variables, body: { var: { VCAP_B: value } } },
    { method: "PATCH", path: variables, body: { var: { B: value.repeat(60_000) } } },
    { method: "PATCH", path: variables, body: { var: value } },
    { method: "PATCH", path: variables, body: `{"var":{"A":"${value}"` },
    { method: "PATCH", path: variables, body: value },
    {
      method: "POST",
      path: "/v3/apps",
      body: { name: "new", environment_variables: { A: value }, relationships: near },
    },
    {
      method: "POST",
      path: "/v3/apps",
      body: { name: "by-url", lifecycle: { type: "buildpack", data: { buildpacks: [url] } }, relationships: near },
    },
    {
      method: "PATCH",
      path: `/v3/apps/${app}`,
      body: { lifecycle: { type: "buildpack", data: { buildpacks: [`ht tp://user:${SECRETS.url}@x`, "none"] } } },
    },
    {
      method: "POST",
      path: "/v3/packages",
      body: {
        type: "docker",
        data: { image: "example.com/a", username: "me", password: SECRETS.registry },
        relationships: { app: { data: { guid: app } } },
      },
    },
    {
      method: "POST",
      path: `/v3/spaces/${space}/actions/apply_manifest`,
      body: `applications:\n- name: app\n  env: { A: ${value} }\n`,
    },
    {
      method: "POST",
      path: `/v3/spaces/${space}/actions/apply_manifest`,
      body: `applications:\n- name: app\n  env: { A: "${value}\n`,
    },
    {
      method: "POST",
      path: `/v3/spaces/${space}/actions/apply_manifest`,
      body: `applications:\n- name: app\n  env: !!binary ${value}\n  docker: { image: x, username: [${SECRETS.registry}] }\n`,
    },
  ];
}

describe.each(MODES)("while the Kubernetes API answers: %s", (how) => {
  test("nothing secret in any error or line of the log", async () => {
    const all = await calls();
    [lines, errors].forEach((list) => list.splice(0));
    mode = how;
    try {
      await Promise.all(all.map(({ method, path, ...message }) => ask(method, path, message)));
    } finally {
      mode = "calm";
    }
    expect(errors.length).toBeGreaterThan(10);
    if (how !== "calm") expect(lines.length).toBeGreaterThan(0);
    for (const text of [...errors, ...lines]) expect([text, found(text)]).toEqual([text, []]);
  });
});

test("a password in a buildpack's address is not shown", async () => {
  const shown: string[] = [];
  const hear = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await ask(method, path, { body });
    expect([path, answer.status < 300]).toEqual([path, true]);
    shown.push(answer.text);
    return answer;
  };
  const lifecycle = { type: "buildpack", data: { buildpacks: [`https://user:${SECRETS.url}@example.com/buildpack`] } };
  const { guid } = (
    await hear("POST", "/v3/apps", {
      name: "by-address",
      lifecycle,
      relationships: { space: { data: { guid: space } } },
    })
  ).json;
  await hear("PATCH", `/v3/apps/${guid}`, { lifecycle });
  await hear("GET", `/v3/apps/${guid}`);
  await hear("GET", "/v3/apps");
  expect(shown.join()).toContain("https://***:***@example.com/buildpack");
  expect(found(shown.join())).toEqual([]);
});

test("a server that is not an API server gets no credential again", async () => {
  const server = createNetServer((socket) => void socket.on("data", (data) => socket.end(data)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
  const client = createClient({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    auth: { kind: "token", token: SECRETS.platform },
    fieldManager: API_FIELD_MANAGER,
  });
  ends.push(() => client.close());
  const caught = await client.raw("GET", "/version").catch((error: unknown) => error);
  lines.splice(0);
  pino({ level: "trace" }, { write: (line: string) => void lines.push(line) }).error(
    { err: caught },
    "as the platform would log it",
  );
  expect(lines).toHaveLength(1);
  expect(found(lines.join(""))).toEqual([]);
});
