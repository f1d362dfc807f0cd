// A short life of an app through the CF API, for metrics: a build, a start, a crash, a task, a route, a broker, and a request that fails.
import { expect } from "vitest";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Task } from "../../../crds/task/task.ts";
import { TaskRun } from "../../../crds/task-run/task-run.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { eventually } from "../../eventually.ts";

interface Answer {
  guid: string;
  state: string;
  resources: { guid: string }[];
  droplet: { guid: string };
}

export interface UsedPlatform {
  admin: KubeClient;
  /** The address of the CF API. */
  url: string;
  token: string;
  /** An address that is no broker. */
  broker: string;
}

const MINUTE = 60_000;

export async function useApps({ admin, url, token, broker }: UsedPlatform): Promise<void> {
  const call = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await answer.text();
    expect(answer.status, `${method} ${path}: ${text}`).toBeLessThan(300);
    return text === "" ? ({} as Answer) : (JSON.parse(text) as Answer);
  };
  await fetch(`${url}/v3/apps/none`, { headers: { authorization: `Bearer ${token}` } });
  await call("PATCH", "/v3/feature_flags/diego_docker", { enabled: true });
  const org = await call("POST", "/v3/organizations", { name: "acme" });
  const space = await eventually(
    () => call("POST", "/v3/spaces", { name: "dev", relationships: { organization: { data: { guid: org.guid } } } }),
    MINUTE,
  );
  const inSpace = { space: { data: { guid: space.guid } } };
  const app = await eventually(
    () => call("POST", "/v3/apps", { name: "shop", lifecycle: { type: "docker", data: {} }, relationships: inSpace }),
    MINUTE,
  );
  await startApp(call, app.guid);
  await mapRoute(call, app.guid, inSpace);
  await call("POST", `/v3/apps/${app.guid}/tasks`, { command: "true" });
  await call("POST", "/v3/service_brokers", {
    name: "db",
    url: broker,
    authentication: { type: "basic", credentials: { username: "u", password: "p" } },
  });
  await playRunner(admin);
}

type Call = (method: string, path: string, body?: object) => Promise<Answer>;

async function startApp(call: Call, guid: string): Promise<void> {
  const relationships = { app: { data: { guid } } };
  const pkg = await call("POST", "/v3/packages", {
    type: "docker",
    relationships,
    data: { image: "registry.example.org/shop:1" },
  });
  const build = await call("POST", "/v3/builds", { package: { guid: pkg.guid } });
  const droplet = await eventually(async () => {
    const { state, droplet: made } = await call("GET", `/v3/builds/${build.guid}`);
    return state === "STAGED" ? made : expect.unreachable(state);
  }, MINUTE);
  await call("PATCH", `/v3/apps/${guid}/relationships/current_droplet`, { data: { guid: droplet.guid } });
  await call("POST", `/v3/apps/${guid}/actions/start`);
}

async function mapRoute(call: Call, app: string, inSpace: object): Promise<void> {
  const [domain] = (await call("GET", "/v3/domains")).resources;
  const relationships = { ...inSpace, domain: { data: { guid: domain?.guid } } };
  const route = await call("POST", "/v3/routes", { host: "shop", relationships });
  await call("POST", `/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid: app } }] });
}

/** No pod runs here: the states of instances and tasks are written by hand. */
async function playRunner(admin: KubeClient): Promise<void> {
  const show = async (status: object): Promise<void> => {
    await eventually(async () => {
      const lrp = (await admin.list(LRP)).items[0] ?? expect.unreachable("no LRP yet");
      await admin.updateStatus(LRP, { ...lrp, status });
    }, MINUTE);
  };
  const since = new Date().toISOString();
  await show({ runningInstances: 1, instances: [{ index: 0, state: "Running", ready: true, since }] });
  await show({ runningInstances: 0, instances: [{ index: 0, state: "Crashed", ready: false, crashCount: 1, since }] });
  await eventually(async () => {
    const run = (await admin.list(TaskRun)).items[0] ?? expect.unreachable("no TaskRun yet");
    await admin.updateStatus(TaskRun, { ...run, status: { state: "Succeeded" } });
    expect((await admin.list(Task)).items[0]?.status?.state).toBe("Succeeded");
  }, MINUTE);
}
