// A service broker for tests, over HTTP: it does what a real one does, or what `PUT /control` says. Nothing is kept beyond its process.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { setTimeout as delay } from "node:timers/promises";
import type { Asked, BrokerState, Reply, Thing } from "./broker-state.ts";
import { refuse } from "./refusals.ts";
import {
  TEST_CATALOG,
  type Behaviour,
  type BrokerOperation,
  type BrokerRequestRecord,
  type Control,
} from "./behaviour.ts";

export interface TestBroker {
  url: string;
  username: string;
  password: string;
  set(control: Control): void;
  /** Requests so far, of one operation or all. */
  requests(operation?: BrokerOperation): BrokerRequestRecord[];
  /** Paths of the instances and bindings that it has. */
  things(): string[];
  close(): Promise<void>;
}

/** `cut`: the request never reaches the broker. `fail`: the broker did it, and answers 500. */
export type Interception = "cut" | "fail";
/** Called when a request has come, when the broker has done what it asks, and, with the status, when the answer is sent. */
export type Intercept = (
  moment: "received" | "done" | "answered",
  asked: Asked,
  status?: number,
) => Promise<Interception | undefined> | undefined;

const MAX_REQUESTS = 1000;
const json = (status: number, body: object): Reply => ({ status, text: JSON.stringify(body) });

/** Listens at loopback unless told otherwise: clients of other machines reach it at `host`. */
export async function startTestBroker({
  port = 0,
  host = "127.0.0.1",
  intercept,
}: { port?: number; host?: string; intercept?: Intercept } = {}): Promise<TestBroker> {
  const state: BrokerState = {
    catalog: TEST_CATALOG,
    username: "broker",
    password: "secret",
    behaviours: {},
    requests: [],
    things: new Map(),
  };
  const server = createServer((request, response) => void serve(state, { request, response, intercept })).listen(
    port,
    host,
  );
  await once(server, "listening");
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    username: state.username,
    password: state.password,
    set: (control) => void Object.assign(state, control),
    requests: (operation) => state.requests.filter((one) => !operation || one.operation === operation),
    things: () => [...state.things.keys()].sort(),
    close: () => closed(server),
  };
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  intercept: Intercept | undefined;
}

async function serve(state: BrokerState, { request, response, intercept }: Exchange): Promise<void> {
  const url = new URL(request.url ?? "/", "http://broker");
  const body = await readJSON(request);
  if (url.pathname.startsWith("/control")) return send(response, control(state, url.pathname, body));
  const operation = toOperation(request.method ?? "GET", url.pathname);
  if (!operation) return send(response, json(404, { description: "no such endpoint" }));
  const behaviour = state.behaviours[operation] ?? {};
  if (behaviour.delayMs) await delay(behaviour.delayMs);
  const path = url.pathname.replace(/\/last_operation$/, "");
  const asked: Asked = { operation, path, query: url.searchParams, body, behaviour };
  const reply = await answer(state, asked, { request, response, intercept });
  if (!reply) return void request.socket.destroy();
  record(state, { request, url, body, operation, status: reply.status });
  if (behaviour.silent) return;
  send(response, reply);
  await intercept?.("answered", asked, reply.status);
}

/** Undefined for a request that never comes. */
async function answer(state: BrokerState, asked: Asked, { request, intercept }: Exchange): Promise<Reply | undefined> {
  if ((await intercept?.("received", asked)) === "cut") return undefined;
  const reply = toReply(state, asked, request);
  if ((await intercept?.("done", asked)) !== "fail") return reply;
  delete state.things.get(asked.path)?.pending;
  return json(500, { description: "it crashed" });
}

function send(response: ServerResponse, { status, text, headers }: Reply): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}

async function readJSON(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}

function control(state: BrokerState, path: string, body: Control): Reply {
  if (path === "/control/requests") return json(200, state.requests);
  Object.assign(state, body);
  return json(200, {});
}

function record(
  state: BrokerState,
  asked: { request: IncomingMessage; url: URL; body: object; operation: BrokerOperation; status: number },
): void {
  const { request, url, body, operation, status } = asked;
  if (state.requests.length >= MAX_REQUESTS) state.requests.shift();
  state.requests.push({
    operation,
    method: request.method ?? "GET",
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    body,
    status,
  });
}

function toOperation(method: string, path: string): BrokerOperation | undefined {
  if (path === "/v2/catalog") return "catalog";
  if (path.endsWith("/last_operation")) return "last_operation";
  const [, kind] = /^\/v2\/service_instances\/[^/]+(\/service_bindings\/[^/]+)?$/.exec(path) ? [path, path] : [];
  if (kind === undefined) return undefined;
  const ofBinding = path.includes("/service_bindings/");
  const verbs: Record<string, BrokerOperation> = ofBinding
    ? { PUT: "bind", DELETE: "unbind", GET: "fetch" }
    : { PUT: "provision", PATCH: "update", DELETE: "deprovision", GET: "fetch" };
  return verbs[method];
}

function toReply(state: BrokerState, asked: Asked, { headers }: IncomingMessage): Reply {
  const expected = `Basic ${Buffer.from(`${state.username}:${state.password}`).toString("base64")}`;
  if (headers.authorization !== expected) return json(401, { description: "unknown username or password" });
  if (!headers["x-broker-api-version"]) return json(412, { description: "X-Broker-API-Version is missing" });
  const { answer } = asked.behaviour;
  if (answer) return { status: answer.status, text: answer.text ?? "{}", headers: answer.headers ?? {} };
  const refusal = refuse(state, asked);
  if (refusal?.status === 422) passTime(state, asked.path);
  return refusal ?? answers[asked.operation](state, asked);
}

const answers: Record<BrokerOperation, (state: BrokerState, asked: Asked) => Reply> = {
  catalog: (state) => json(200, state.catalog),
  provision: make,
  update: make,
  bind: make,
  deprovision: remove,
  unbind: remove,
  last_operation: poll,
  fetch: fetched,
};

function make(state: BrokerState, asked: Asked): Reply {
  const { operation, path, body, behaviour } = asked;
  const existing = state.things.get(path);
  if (operation === "update" && !existing) return json(404, { description: "there is no such instance" });
  if (operation !== "update" && existing) return makeAgain(existing, asked);
  const thing: Thing = { body: { ...existing?.body, ...body } };
  state.things.set(path, thing);
  if (behaviour.async) return accept(thing, asked, "made");
  if (operation === "bind") return json(201, toBinding(path, behaviour));
  return json(operation === "update" ? 200 : 201, { dashboard_url: `https://dashboard.example.com${path}` });
}

/** An existing thing: the same request is no conflict. */
function makeAgain(existing: Thing, { operation, path, body, behaviour }: Asked): Reply {
  const isSame = ["service_id", "plan_id", "parameters", "app_guid"].every((name) =>
    isDeepStrictEqual(existing.body[name], body[name]),
  );
  if (!isSame) return json(409, { description: "it is there with other attributes" });
  if (existing.pending) return json(202, { operation: `${operation}-1` });
  return json(200, operation === "bind" ? toBinding(path, behaviour) : {});
}

function toBinding(path: string, { more }: Behaviour): object {
  const guid = path.split("/").at(-1) ?? "";
  return { credentials: { uri: `db://${guid}`, username: guid, password: `password of ${guid}` }, ...more };
}

function fetched({ things, behaviours }: BrokerState, { path }: Asked): Reply {
  const thing = things.get(path);
  if (!thing || thing.pending) return json(404, { description: "there is no such thing" });
  const { parameters = {}, service_id, plan_id } = thing.body;
  if (path.includes("/service_bindings/")) return json(200, { ...toBinding(path, behaviours.bind ?? {}), parameters });
  return json(200, { service_id, plan_id, parameters });
}

function remove({ things }: BrokerState, asked: Asked): Reply {
  const thing = things.get(asked.path);
  if (!thing) return json(410, {});
  if (thing.pending?.end === "gone") return json(202, { operation: `${asked.operation}-1` });
  if (asked.behaviour.async) return accept(thing, asked, "gone");
  things.delete(asked.path);
  return json(200, {});
}

function accept(thing: Thing, { operation, behaviour }: Asked, end: "made" | "gone"): Reply {
  const { polls = 1, state = "succeeded", description = `${operation} ${state}` } = behaviour.async ?? {};
  thing.pending = { polls, state, description, end };
  return json(202, { operation: `${operation}-1` });
}

function poll({ things, behaviours }: BrokerState, { path }: Asked): Reply {
  const thing = things.get(path);
  if (!thing) return json(410, {});
  const { pending } = thing;
  if (!pending) return json(200, { state: "succeeded", description: "done" });
  if (pending.polls > 0) {
    pending.polls -= 1;
    const seconds = Object.values(behaviours).find(({ async }) => async?.retryAfterSeconds)?.async?.retryAfterSeconds;
    const reply = json(200, { state: "in progress", description: "working on it" });
    return seconds === undefined ? reply : { ...reply, headers: { "retry-after": String(seconds) } };
  }
  finish(things, path, thing);
  return json(200, { state: pending.state, description: pending.description });
}

function finish(things: BrokerState["things"], path: string, thing: Thing): void {
  const { pending } = thing;
  delete thing.pending;
  if (pending?.end === "gone" && pending.state === "succeeded") things.delete(path);
}

/** An operation ends some time, also where nobody asks how far it is: each refusal counts as a question. */
function passTime({ things }: BrokerState, path: string): void {
  const [instance = path] = path.split("/service_bindings/");
  for (const [other, thing] of things) {
    if (!thing.pending || !(other === instance || other.startsWith(`${instance}/`))) continue;
    if (thing.pending.polls > 0) thing.pending.polls -= 1;
    else finish(things, other, thing);
  }
}
