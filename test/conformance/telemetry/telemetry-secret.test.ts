// Processes of the platform follow the Secret of their tokens: deleted, it is made again, and all of them take the new one without a restart.
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Namespace, Secret } from "../../../kube/api/builtin.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { createReadiness } from "../../../kube/server/readiness.ts";
import { startTelemetrySecret, TELEMETRY_SECRET } from "../../../platform/telemetry/telemetry-secret.ts";
import { eventually } from "../../eventually.ts";
import { startEmbedded } from "../embedded-server.ts";

const KEY = { namespace: SYSTEM_NAMESPACE, name: TELEMETRY_SECRET };
const log = pino({ level: "silent" });
const ends: (() => Promise<unknown> | void)[] = [];
let connect: () => KubeClient;
let admin: KubeClient;
let processes: (() => string)[];

beforeAll(async () => {
  const { url, ca, adminToken, stop } = await startEmbedded();
  ends.push(stop);
  connect = () => {
    const auth = { kind: "token", token: adminToken } as const;
    const client = createClient({ server: url, ca, auth, fieldManager: "test", userAgent: "test" });
    ends.unshift(() => client.close());
    return client;
  };
  admin = connect();
  await admin.create(Namespace, { metadata: { name: SYSTEM_NAMESPACE } });
  processes = await Promise.all([startProcess(), startProcess()]);
});
afterAll(async () => {
  for (const end of ends) await end();
});

async function startProcess(): Promise<() => string> {
  const client = connect();
  const informers = createInformers({ client, log });
  const process = new AbortController();
  ends.unshift(
    () => process.abort(),
    () => informers.close(),
  );
  return startTelemetrySecret({ client, informers, readiness: createReadiness(), signal: process.signal, log });
}

const tokens = (): string[] => processes.map((current) => current());

test("processes that start at once have one secret", () => {
  const [first, second] = tokens();
  expect(first).toMatch(/^[\w-]{32}$/);
  expect(second).toBe(first);
});

test("a deleted Secret is made again, and every process takes the new one", async () => {
  const [before] = tokens();
  await admin.delete(Secret, KEY);
  await eventually(async () => {
    const { data } = await admin.get(Secret, KEY);
    const now = Buffer.from(data?.["token"] ?? "", "base64").toString();
    expect(now).not.toBe(before);
    expect(tokens()).toEqual([now, now]);
  });
});

test("a changed Secret is followed, and one without its key is not", async () => {
  const change = (token: string | null) => admin.patch(Secret, KEY, { type: "merge", body: { data: { token } } });
  await change(Buffer.from("rotated").toString("base64"));
  await eventually(() => expect(tokens()).toEqual(["rotated", "rotated"]));
  await change(null);
  await change(Buffer.from("again").toString("base64"));
  await eventually(() => expect(tokens()).toEqual(["again", "again"]));
  expect(tokens()).not.toContain("");
});
