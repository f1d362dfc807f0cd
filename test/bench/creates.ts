// `POST /v3/apps`: its requests to the API server, and its rate beside bare writes of as many objects.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pLimit from "p-limit";
import { request } from "undici";
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { Process } from "../../crds/process/process.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { installManifests } from "../../platform/install.ts";
import type { ApiServerProcessOptions } from "./apiserver-process.ts";
import { startChild } from "./child-process.ts";
import { type Figure, figure, median } from "./figure.ts";
import type { PlatformProcessOptions, Requests } from "./platform-process.ts";
import type { ThousandApps } from "./thousand-apps.ts";

const AT_ONCE = 8;
const TURNS = 5;
/** Enough that a turn takes a second, and the first one warms both processes up. */
const PER_TURN = 200;

/** Four writes, and its share of the audit events' one a second. */
const MAX_REQUESTS = 4.1;

interface Turn {
  /** Apps a second. */
  ours: number;
  floor: number;
  /** For each app, until all is at rest. */
  requests: number;
  /** Processor time of API server and platform, milliseconds. */
  apiserver: number;
  platform: number;
}

/** The API server and the platform come to rest between the turns, so that none pays for what another left to do. */
export async function measureCreates(apps: ThousandApps): Promise<Figure[]> {
  const bare = await startBareServer();
  try {
    return toFigures(await measureTurns(apps, bare.client));
  } finally {
    await bare.stop();
  }
}

async function measureTurns(apps: ThousandApps, bare: KubeClient): Promise<Turn[]> {
  const headers = { authorization: `bearer ${apps.token}`, "content-type": "application/json" };
  const { body } = await request(`${apps.url}/v3/spaces`, { headers });
  const { resources } = (await body.json()) as { resources: { guid: string }[] };
  const space = { data: { guid: resources[0]?.guid } };
  const post = async (name: string): Promise<void> => {
    const given = JSON.stringify({ name, relationships: { space } });
    const answer = await request(`${apps.url}/v3/apps`, { method: "POST", headers, body: given });
    const text = await answer.body.text();
    if (answer.statusCode !== 201) throw new Error(`POST /v3/apps was answered ${answer.statusCode}: ${text}`);
  };
  await inParallel("warm", post);
  await writeBare(bare, "warm");
  await apps.rest();
  const turns: Turn[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const before = await usageOf(apps);
    const ours = await inParallel(`ours-${turn}`, post);
    await apps.rest();
    const after = await usageOf(apps);
    const perApp = (what: keyof typeof after): number => (after[what] - before[what]) / PER_TURN;
    turns.push({
      ours,
      floor: await writeBare(bare, `floor-${turn}`),
      requests: perApp("requests"),
      apiserver: perApp("apiserver"),
      platform: perApp("platform"),
    });
  }
  return turns;
}

function toFigures(turns: readonly Turn[]): Figure[] {
  const each = (of: (turn: Turn) => number): number => median(turns.map(of));
  const rate = `POST /v3/apps, ${AT_ONCE} at once`;
  return [
    figure(
      "requests to the API server per POST /v3/apps",
      each(({ requests }) => requests),
      "requests",
      { max: MAX_REQUESTS },
    ),
    figure(
      `${rate}, against bare writes of claim, app and process where no platform watches: apps a second`,
      each(({ ours, floor }) => ours / floor),
      "ratio",
    ),
    figure(
      rate,
      each(({ ours }) => ours),
      "apps/s",
      { min: 150 },
    ),
    figure(
      "processor time of the API server per POST /v3/apps",
      each(({ apiserver }) => apiserver),
      "ms",
    ),
    figure(
      "processor time of the platform per POST /v3/apps",
      each(({ platform }) => platform),
      "ms",
    ),
  ];
}

/** Requests, without Leases, which are renewed every few seconds whoever asks; processor time in milliseconds. */
async function usageOf({
  apiserver,
  platform,
}: ThousandApps): Promise<Record<"requests" | "apiserver" | "platform", number>> {
  const { all, leases } = await platform.request<Requests>("requests");
  const [server, ours] = [await apiserver.request<number>("cpu"), await platform.request<number>("cpu")];
  return { requests: all - leases, apiserver: server / 1000, platform: ours / 1000 };
}

/** An API server with our kinds and policies, and no platform. */
async function startBareServer(): Promise<{ client: KubeClient; stop(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), "cupola-bench-"));
  const tokens = { platform: "unused", admin: "bare", developer: "unused" };
  const options: ApiServerProcessOptions = { dir, tokens };
  const server = startChild(join(import.meta.dirname, "apiserver-process.ts"), options);
  const access = await server.request<PlatformProcessOptions["access"]>("access");
  const client = createClient({ ...access, auth: { kind: "token", token: tokens.admin } });
  await installManifests(client);
  return {
    client,
    async stop() {
      await client.close();
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Claim, app and process by one client. */
async function writeBare(admin: KubeClient, prefix: string): Promise<number> {
  const namespace = "default";
  return inParallel(prefix, async (name) => {
    const claimant = { kind: "App", namespace, name };
    const spec = { scope: `app/${namespace}`, claimed: name, claimant, since: new Date().toISOString() };
    await admin.create(Claim, { metadata: { name: `bare-${name}`, namespace }, spec });
    await admin.create(App, { metadata: { name, namespace }, spec: { name } });
    await admin.create(Process, {
      metadata: { name: `${name}.web`, namespace },
      spec: { appRef: { name }, type: "web" },
    });
  });
}

/** Calls a second. */
async function inParallel(prefix: string, work: (name: string) => Promise<void>): Promise<number> {
  const limit = pLimit(AT_ONCE);
  const start = performance.now();
  await Promise.all(Array.from({ length: PER_TURN }, (_, at) => limit(() => work(`${prefix}-${at}`))));
  return (PER_TURN / (performance.now() - start)) * 1000;
}
