// A TLS proxy between the platform and kube-apiserver. Calm it passes everything on; at given rates it refuses, cuts, delays and loses answers.
import { Agent, createServer, request as send } from "node:https";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { requestKind } from "../../kube/testing/request-kind.ts";
import { issueCertificate, makeAuthority } from "../../kube/server/pki.ts";
import type { Rates } from "./faults.ts";

/** A write that reached kube-apiserver and changed something; Leases left out. */
export interface Write {
  atMs: number;
  method: string;
  path: string;
  code: number;
}

export interface FaultyProxy {
  url: string;
  /** PEM of the authority of its certificate. */
  ca: string;
  /** From now on, by these numbers. Undefined: no faults. */
  setRates(rates: Rates | undefined, random?: () => number): void;
  /** Cuts this share of the open watches. */
  dropWatches(share: number): void;
  /** Ends this share of the open watches with 410. */
  expireWatches(share: number): void;
  /** Holds back what comes on this share of the open watches; later it comes, or never. */
  stallWatches(share: number, options: { lastMs: number; dies: boolean }): void;
  /** Ends what was left hanging: whoever hears nothing learns that the connection is gone. */
  repair(): void;
  /** Since the start. */
  readonly writes: readonly Write[];
  close(): Promise<void>;
}

interface Watch {
  response: ServerResponse;
  upstream: IncomingMessage;
}

interface FaultInjection {
  rates: Rates;
  random: () => number;
}

interface State {
  target: URL;
  agent: Agent;
  watches: Set<Watch>;
  /** Watches on which nothing will ever come again. */
  dead: Set<ServerResponse>;
  writes: Write[];
  injection: FaultInjection | undefined;
}

interface ProxiedRequest {
  request: IncomingMessage;
  response: ServerResponse;
}

const REFUSALS: readonly { code: number; reason: string; message: string }[] = [
  { code: 409, reason: "Conflict", message: "Operation cannot be fulfilled: the object has been modified (by chaos)" },
  { code: 429, reason: "TooManyRequests", message: "too many requests (by chaos)" },
  { code: 500, reason: "InternalError", message: "etcdserver: leader changed (by chaos)" },
  {
    code: 503,
    reason: "ServiceUnavailable",
    message: "the server is currently unable to handle the request (by chaos)",
  },
];
const GONE = { code: 410, reason: "Expired", message: "too old resource version (by chaos)" };
const TIMEOUT = {
  code: 504,
  reason: "Timeout",
  message: "the request did not complete within the allotted timeout (by chaos)",
};

/** Starts one before `target`, an https URL whose certificate `ca` signed. */
export async function startFaultyProxy(target: string, ca: string): Promise<FaultyProxy> {
  const authority = await makeAuthority("chaos");
  const identity = await issueCertificate(
    authority,
    { commonName: "proxy", dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] },
    { usage: "server" },
  );
  const state: State = {
    target: new URL(target),
    agent: new Agent({ keepAlive: true, ca }),
    watches: new Set(),
    dead: new Set(),
    writes: [],
    injection: undefined,
  };
  const server = createServer(
    { ...identity, requestTimeout: 0, keepAliveTimeout: 60_000 },
    (request, response) => void handleRequest(state, { request, response }),
  );
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  // A watch that kube-apiserver has just ended is still among them until its connection has closed.
  const some = (share: number): Watch[] =>
    [...state.watches].filter(
      ({ response }) => !response.writableEnded && (state.injection?.random ?? Math.random)() < share,
    );
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: authority.cert,
    writes: state.writes,
    setRates(rates, random = Math.random) {
      state.injection = rates && { rates, random };
    },
    dropWatches: (share) => some(share).forEach(({ response }) => response.destroy()),
    expireWatches(share) {
      for (const { response, upstream } of some(share)) {
        upstream.unpipe(response);
        response.end(`${JSON.stringify({ type: "ERROR", object: status(GONE) })}\n`);
      }
    },
    stallWatches(share, { lastMs, dies }) {
      for (const { response, upstream } of some(share)) {
        upstream.unpipe(response);
        upstream.pause();
        if (dies) state.dead.add(response);
        else setTimeout(() => resume(state, { response, upstream }), lastMs).unref();
      }
    },
    repair() {
      for (const response of state.dead) response.destroy();
      state.dead.clear();
    },
    close: () =>
      new Promise((resolve) => {
        state.agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function resume({ watches }: State, watch: Watch): void {
  // It may have ended meanwhile.
  if ([...watches].some(({ response }) => response === watch.response) && !watch.response.writableEnded)
    watch.upstream.pipe(watch.response);
}

function status(error: { code: number; reason: string; message: string }): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", ...error };
}

type Verdict = keyof Rates | "pass";

function pickVerdict({ injection }: State): Verdict {
  if (!injection) return "pass";
  let dice = injection.random();
  for (const [verdict, share] of Object.entries(injection.rates) as [keyof Rates, number][]) {
    if (dice < share) return verdict;
    dice -= share;
  }
  return "pass";
}

async function handleRequest(state: State, proxied: ProxiedRequest): Promise<void> {
  const { request, response } = proxied;
  // A client that hangs up in the middle of its own request is no fault of ours.
  request.on("error", () => response.destroy());
  const verdict = pickVerdict(state);
  const dice = state.injection?.random() ?? 0;
  if (verdict === "cutBefore") return void response.destroy();
  if (verdict === "refused") return refuse(proxied, dice);
  if (verdict === "slow") await delay(50 + 350 * dice);
  forward(state, proxied, verdict);
}

function refuse({ request, response }: ProxiedRequest, dice: number): void {
  // Conflicts are for writes, expired versions for lists and watches.
  const fitting = request.method === "GET" ? [...REFUSALS.filter(({ code }) => code !== 409), GONE] : REFUSALS;
  answer(response, fitting[Math.floor(dice * fitting.length)] ?? TIMEOUT);
  request.resume();
}

function answer(response: ServerResponse, error: { code: number; reason: string; message: string }): void {
  if (response.headersSent) return;
  response.writeHead(error.code, {
    "content-type": "application/json",
    ...(error.code === 429 && { "retry-after": "1" }),
  });
  response.end(JSON.stringify(status(error)));
}

function isWatch({ url = "" }: IncomingMessage): boolean {
  return /[?&]watch=(true|1)/.test(url);
}

function forward(state: State, { request, response }: ProxiedRequest, verdict: Verdict): void {
  const { method = "GET", url = "/", headers } = request;
  const upstream = send(
    {
      host: state.target.hostname,
      port: state.target.port,
      method,
      path: url,
      headers: withoutHost(headers),
      agent: state.agent,
    },
    (reply) => {
      recordWrite(state, { method, path: url, code: reply.statusCode ?? 0, atMs: performance.now() });
      reply.on("error", () => response.destroy());
      if (verdict === "cutAfter") return void response.destroy();
      if (verdict === "timedOut" && method !== "GET") {
        reply.resume();
        return answer(response, TIMEOUT);
      }
      if (response.destroyed) return void reply.destroy();
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      response.flushHeaders();
      reply.pipe(response);
      if (isWatch(request)) trackWatch(state, { response, upstream: reply });
    },
  );
  upstream.on("error", () => response.destroy());
  response.on("close", () => upstream.destroy());
  request.pipe(upstream);
}

function withoutHost({ host: _host, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders {
  return headers;
}

function trackWatch({ watches }: State, watch: Watch): void {
  watches.add(watch);
  watch.response.on("close", () => watches.delete(watch));
  // A stalled watch must not end by itself: its client hears nothing at all.
  watch.upstream.on("error", () => watch.response.destroy());
}

function recordWrite({ writes }: State, write: Write): void {
  if (write.code < 300 && requestKind(write) === "write") writes.push(write);
}
