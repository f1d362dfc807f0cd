// The webhook server: responses to valid and invalid reviews, and certificate rotation while it serves.
import { request } from "node:https";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { pino } from "pino";
import { issueCertificate, makeAuthority, type KeyPair } from "../server/pki.ts";
import type { AdmissionDecision } from "./admission-review.ts";
import { startAdmissionServer, type AdmissionServer, type AdmissionHandler } from "./admission-server.ts";

const log = pino({ level: "silent" });
const open: AdmissionServer[] = [];
let old: { authority: KeyPair; pair: KeyPair };
let fresh: { authority: KeyPair; pair: KeyPair };

async function identity(): Promise<{ authority: KeyPair; pair: KeyPair }> {
  const authority = await makeAuthority(`authority ${Math.random()}`);
  return { authority, pair: await issueCertificate(authority, { commonName: "webhook", ipAddresses: ["127.0.0.1"] }) };
}

beforeAll(async () => {
  [old, fresh] = [await identity(), await identity()];
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close(0);
});

async function serve(decide: AdmissionHandler, deadlineMs = 5_000): Promise<AdmissionServer> {
  const server = await startAdmissionServer({
    host: "127.0.0.1",
    port: 0,
    handlers: new Map([
      ["/judge", decide],
      ["/other", async () => ({ allowed: true, warnings: ["from the other path"] })],
    ]),
    deadlineMs,
    log,
  });
  server.setCertificate(old.pair);
  open.push(server);
  return server;
}

interface RequestOptions {
  path?: string;
  method?: string;
  body?: string;
  ca?: string;
}

function ask(
  { authority }: AdmissionServer,
  { path = "/judge?timeout=2s", method = "POST", body = "", ca = old.authority.cert }: RequestOptions,
): Promise<{ code: number; text: string }> {
  return new Promise((resolve, reject) => {
    const call = request(`https://${authority}${path}`, { method, ca, agent: false, timeout: 5_000 }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve({ code: response.statusCode ?? 0, text }));
    });
    call.on("error", reject);
    call.end(body);
  });
}

const review = (more: object = {}): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u1",
      kind: { group: "g", version: "v1", kind: "Thing" },
      operation: "CREATE",
      object: { metadata: { name: "a" } },
      oldObject: null,
      options: { fieldManager: "person" },
      userInfo: { username: "ann", groups: ["devs", "system:authenticated"] },
      ...more,
    },
  });
const REFUSED: AdmissionDecision = { allowed: false, code: 422, reason: "Invalid", message: "taken" };

describe("webhook server", () => {
  test("calls the handler and returns its decision", async () => {
    const asked: unknown[] = [];
    const server = await serve(async (given) => {
      asked.push(given);
      return REFUSED;
    });
    const { code, text } = await ask(server, { body: review() });
    expect([code, JSON.parse(text)]).toEqual([
      200,
      {
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        response: {
          uid: "u1",
          allowed: false,
          status: { status: "Failure", code: 422, reason: "Invalid", message: "taken" },
        },
      },
    ]);
    expect(asked).toMatchObject([
      {
        uid: "u1",
        operation: "CREATE",
        object: { metadata: { name: "a" } },
        oldObject: undefined,
        fieldManager: "person",
        user: { name: "ann", groups: ["devs", "system:authenticated"] },
      },
    ]);
  });

  test("has a handler for each path, and sends its warnings", async () => {
    const server = await serve(async () => ({ ...REFUSED, warnings: ["one", "two"] }));
    const ofPath = async (path: string): Promise<unknown> =>
      (JSON.parse((await ask(server, { path, body: review() })).text) as { response: unknown }).response;
    expect(await ofPath("/judge")).toMatchObject({ allowed: false, warnings: ["one", "two"] });
    expect(await ofPath("/other")).toEqual({ uid: "u1", allowed: true, warnings: ["from the other path"] });
  });

  test("takes a review without a caller", async () => {
    const asked: unknown[] = [];
    const server = await serve(async (given) => {
      asked.push(given.user);
      return REFUSED;
    });
    await ask(server, { body: review({ userInfo: undefined }) });
    expect(asked).toEqual([{ name: "", groups: [] }]);
  });

  test("allows the write when the decision fails or is late", async () => {
    const allowed = { response: { uid: "u1", allowed: true } };
    const failing = await serve(() => Promise.reject(new Error("not synced")));
    expect(JSON.parse((await ask(failing, { body: review() })).text)).toMatchObject(allowed);
    const late = await serve(() => new Promise(() => undefined), 20);
    expect(JSON.parse((await ask(late, { body: review() })).text)).toMatchObject(allowed);
  });

  test.each([
    [404, { path: "/else", body: review() }],
    [405, { method: "GET" }],
    [400, { body: "{" }],
    [400, { body: JSON.stringify({ apiVersion: "admission.k8s.io/v1beta1", kind: "AdmissionReview", request: {} }) }],
    [400, { body: review({ uid: 5 }) }],
    [413, { body: " ".repeat(8 * 1024 * 1024 + 1) }],
  ])("answers %i to an invalid review", async (code, request) => {
    const server = await serve(async () => REFUSED);
    // An unread body may close the connection before the response arrives.
    const answer = await ask(server, request).catch((error: unknown) => ({
      code: ["ECONNRESET", "EPIPE"].includes((error as NodeJS.ErrnoException).code ?? "") ? 413 : 0,
    }));
    expect(answer.code).toBe(code);
  });

  test("uses a new certificate from the next handshake on, without a restart", async () => {
    const server = await serve(async () => REFUSED);
    expect((await ask(server, { body: review() })).code).toBe(200);
    server.setCertificate(fresh.pair);
    expect((await ask(server, { body: review(), ca: fresh.authority.cert })).code).toBe(200);
    await expect(ask(server, { body: review() })).rejects.toThrow(/certificate/);
  });
});
