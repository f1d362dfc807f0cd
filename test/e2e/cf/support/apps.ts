// Apps for cases, made through the API in a moment: a copy of one droplet, which is staged once per platform.
import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { eventually } from "../../../eventually.ts";
import type { Named, Page } from "../../support/api.ts";
import type { CaseRun } from "./case.ts";
import type { Ground } from "./ground.ts";

const START_MS = 90_000;
/** Memory of each app on a node, where it is the share of the processor, too: with more, those of four cases do not fit on two cores. */
const NODE_MEMORY_MB = 512;
const droplets = new WeakMap<Ground, Promise<string>>();

export interface AppOptions {
  name?: string;
  /** Without a droplet, with one, or with it and running; running unless said. */
  is?: "empty" | "stopped" | "running";
}

/** Makes an app from examples/hello, its name that of the case unless said, with a route `<name>.apps.localhost`. Answers its GUID. */
export async function makeApp({ ground, name, values, folder }: CaseRun, options: AppOptions = {}): Promise<string> {
  const { admin } = ground.api;
  const own = options.name ?? name;
  const is = options.is ?? "running";
  const space = { data: { guid: ground.spaceGUID } };
  const { guid } = await admin.call("POST", "/v3/apps", { name: own, relationships: { space } });
  if (own === name) values["app"] = guid;
  if (is === "empty") return guid;
  const source = await baseDroplet(ground, values["hello"] ?? "", folder);
  const droplet = await admin.call("POST", `/v3/droplets?source_guid=${source}`, {
    relationships: { app: { data: { guid } } },
  });
  await eventually(async () =>
    expect(await admin.call("GET", `/v3/droplets/${droplet.guid}`)).toMatchObject({ state: "STAGED" }),
  );
  await admin.call("PATCH", `/v3/apps/${guid}/relationships/current_droplet`, { data: { guid: droplet.guid } });
  if (ground.stage.on === "node")
    await admin.call("POST", `/v3/apps/${guid}/processes/web/actions/scale`, { memory_in_mb: NODE_MEMORY_MB });
  const domain = { data: { guid: ground.domainGUID } };
  const route = await admin.call("POST", "/v3/routes", { host: own, relationships: { space, domain } });
  await admin.call("POST", `/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid } }] });
  if (is === "stopped") return guid;
  await admin.call("POST", `/v3/apps/${guid}/actions/start`);
  await untilRunning(ground, guid);
  return guid;
}

/** Stops the apps of a case that is over: those with its name, or one that begins with it and a dash. */
export async function stopApps({ ground, name }: CaseRun): Promise<void> {
  const { admin } = ground.api;
  const { resources } = await admin.call<Page<AppResource>>(
    "GET",
    `/v3/apps?space_guids=${ground.spaceGUID}&per_page=5000`,
  );
  const own = resources.filter(
    (app) => app.state === "STARTED" && (app.name === name || app.name.startsWith(`${name}-`)),
  );
  await Promise.all(own.map(({ guid }) => admin.call("POST", `/v3/apps/${guid}/actions/stop`)));
}

/** Resolves when all instances of a process run, and there are as many as wanted. */
export async function untilRunning(ground: Ground, app: string, type = "web"): Promise<void> {
  await eventually(async () => {
    const { instances } = await ground.api.admin.call<{ instances: number }>(
      "GET",
      `/v3/apps/${app}/processes/${type}`,
    );
    const states = await statesOf(ground, app, type);
    expect(states).toEqual(Array<string>(instances).fill("RUNNING"));
  }, START_MS);
}

/** The states of a process' instances. */
export async function statesOf(ground: Ground, app: string, type = "web"): Promise<string[]> {
  const { resources } = await ground.api.admin.call<Page<{ state: string }>>(
    "GET",
    `/v3/apps/${app}/processes/${type}/stats`,
  );
  return resources.map(({ state }) => state);
}

/** An app of the cases' space by name; undefined when there is none. */
export async function findApp(ground: Ground, name: string): Promise<AppResource | undefined> {
  const path = `/v3/apps?names=${name}&space_guids=${ground.spaceGUID}`;
  return (await ground.api.admin.call<Page<AppResource>>("GET", path)).resources[0];
}

export interface AppResource extends Named {
  state: string;
  lifecycle: { type: string; data: Record<string, unknown> };
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
}

/** The droplet that apps of cases are copies of, staged when it is wanted first. */
export function baseDroplet(ground: Ground, hello: string, folder: string): Promise<string> {
  const known = droplets.get(ground);
  if (known) return known;
  const staged = stageBase(ground, hello, folder);
  droplets.set(ground, staged);
  return staged;
}

async function stageBase(ground: Ground, hello: string, folder: string): Promise<string> {
  const home = ground.newHome("admin", `${folder}.cf-base`);
  const args = ["push", "base", "-p", hello, "--no-route", "-m", "64M"];
  const { code, output } = await ground.runCf(home, { args, cwd: folder });
  if (code !== 0) throw new Error(`cf push base ended with ${code}: ${output}`);
  const app = await findApp(ground, "base");
  const droplet = await ground.api.admin.call("GET", `/v3/apps/${app?.guid}/droplets/current`);
  await ground.api.admin.call("POST", `/v3/apps/${app?.guid}/actions/stop`);
  return droplet.guid;
}

/** Answer of GET /v3/apps/:guid/processes/:type; for effects. */
export interface ProcessResource {
  guid: string;
  type: string;
  command: string;
  instances: number;
  memory_in_mb: number;
  disk_in_mb: number;
  log_rate_limit_in_bytes_per_second: number;
  health_check: { type: string; data: Record<string, unknown> };
  readiness_health_check: { type: string; data: Record<string, unknown> };
}

/** A process of the app with the case's name. */
export async function processOf(run: CaseRun, type = "web", app = run.name): Promise<ProcessResource> {
  const guid = (await findApp(run.ground, app))?.guid;
  return await run.ground.api.admin.call<ProcessResource>("GET", `/v3/apps/${guid}/processes/${type}`);
}

/** The admin's GET of something below the app with the case's name. */
export async function ofApp<T = Page<Named>>(run: CaseRun, path: string, app = run.name): Promise<T> {
  const guid = (await findApp(run.ground, app))?.guid;
  return await run.ground.api.admin.call<T>("GET", `/v3/apps/${guid}/${path}`);
}

/** Waits until the app with the case's name answers with a status. */
export async function answers(run: CaseRun, status: number, host = run.name): Promise<string> {
  return await eventually(async () => {
    const answer = await run.ground.stage.get(`${host}.apps.localhost`);
    expect(answer.status, answer.body).toBe(status);
    return answer.body;
  }, START_MS);
}

export async function expectState(run: CaseRun, state: "STARTED" | "STOPPED", app = run.name): Promise<void> {
  expect(await findApp(run.ground, app)).toMatchObject({ state });
}

/** A running app with a process `worker` of one instance besides `web`. */
export async function makeAppWithWorker(run: CaseRun): Promise<void> {
  await makeApp(run, { is: "stopped" });
  const worker = { type: "worker", command: "sleep 1000", instances: 1, memory: "32M", "health-check-type": "process" };
  const manifest = JSON.stringify({ applications: [{ name: run.name, processes: [worker] }] });
  writeFileSync(`${run.folder}/worker.yml`, manifest);
  await run.cf("developer", "apply-manifest", "-f", "worker.yml");
  await run.cf("developer", "start", run.name);
  await untilRunning(run.ground, run.values["app"] ?? "", "worker");
}
