// `POST /v3/apps`: its requests to the API server, and its rate beside bare writes of as many objects.
import pLimit from "p-limit";
import { request } from "undici";
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { Process } from "../../crds/process/process.ts";
import { type Figure, figure, median } from "./figure.ts";
import type { Requests } from "./platform-process.ts";
import type { ThousandApps } from "./thousand-apps.ts";

const AT_ONCE = 8;
const TURNS = 3;
const PER_TURN = 50;

/** The API server and the platform come to rest between the turns, so that none pays for what another left to do. */
export async function measureCreates(apps: ThousandApps): Promise<Figure[]> {
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
  await apps.rest();
  const turns: { ours: number; floor: number; requests: number }[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const before = await countRequests(apps);
    const ours = await inParallel(`ours-${turn}`, post);
    await apps.rest();
    const requests = ((await countRequests(apps)) - before) / PER_TURN;
    turns.push({ ours, requests, floor: await writeBare(apps, `floor-${turn}`) });
  }
  return [
    figure("requests to the API server per POST /v3/apps", median(turns.map((turn) => turn.requests)), "requests", {
      max: 4,
    }),
    figure(
      `POST /v3/apps, ${AT_ONCE} at once, against bare writes of as many objects: apps a second`,
      median(turns.map(({ ours, floor }) => ours / floor)),
      "ratio",
    ),
    figure(`POST /v3/apps, ${AT_ONCE} at once`, median(turns.map(({ ours }) => ours)), "apps/s", { min: 150 }),
  ];
}

/** A Lease is renewed every few seconds, whoever asks. */
async function countRequests({ platform }: ThousandApps): Promise<number> {
  const { all, leases } = await platform.request<Requests>("requests");
  return all - leases;
}

/** Claim, app and process by one client, in a namespace that no controller looks at. */
async function writeBare({ admin }: ThousandApps, prefix: string): Promise<number> {
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
