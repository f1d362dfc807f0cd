// Every body that goes out, whole and in order, beside the CF documents: GUIDs, times and the address are replaced by words.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Job, toJobGUID } from "../../../api/jobs/job-guid.ts";
import { JOB_KEY } from "../../../api/jobs/job-key.ts";
import { type ApiTestEnv, startApiTestEnv } from "./test-env.ts";

let world: ApiTestEnv;
const real: Record<string, string> = {};

beforeAll(async () => {
  world = await startApiTestEnv();
  const make = async (kind: string, path: string, body: unknown): Promise<string> => {
    const { json, status } = await world.replicas[0].call("admin", "POST", path, body);
    expect([status, json.errors]).toEqual([201, undefined]);
    return (real[kind] = json.guid);
  };
  const to = (guid: string): object => ({ data: { guid } });
  const first = async (kind: string, path: string): Promise<string> =>
    (real[kind] = (await world.replicas[0].call("admin", "GET", path)).json.resources[0].guid);
  const metadata = { labels: { team: "one" }, annotations: { note: "two" } };
  const org = await make("organization", "/v3/organizations", { name: "Org", metadata });
  const space = await make("space", "/v3/spaces", { name: "space", relationships: { organization: to(org) } });
  const app = await make("app", "/v3/apps", {
    name: "app",
    environment_variables: { A: "b" },
    relationships: { space: to(space) },
    metadata,
  });
  const domain = await first("domain", "/v3/domains");
  await make("private-domain", "/v3/domains", { name: "org.example", relationships: { organization: to(org) } });
  const route = await make("route", "/v3/routes", {
    host: "x",
    path: "/y",
    relationships: { space: to(space), domain: to(domain) },
  });
  await world.replicas[0].call("admin", "POST", `/v3/routes/${route}/destinations`, {
    destinations: [{ app: { guid: app } }],
  });
  await make("role", "/v3/roles", {
    type: "organization_user",
    relationships: { user: { data: { username: "ann" } }, organization: to(org) },
  });
  await make("package", "/v3/packages", { type: "bits", relationships: { app: to(app) } });
  await first("process", `/v3/apps/${app}/processes`);
  for (const [kind, path] of [
    ["buildpack", "/v3/buildpacks"],
    ["stack", "/v3/stacks"],
    ["organization-quota", "/v3/organization_quotas"],
  ] as const)
    await first(kind, path);
});
afterAll(() => world.stop());

async function jobPath(job: Pick<Job, "operation" | "guid" | "errors">): Promise<string> {
  const guid = toJobGUID({ ...job, startedAt: 1_750_000_000 }, await JOB_KEY.get(world.kube));
  return `/v3/jobs/${encodeURIComponent(guid)}`;
}

/** The same text in every run: each GUID by its first appearance, times and address by words. */
function normalised(json: unknown): string {
  const guids = new Map<string, string>();
  const text = JSON.stringify(json, null, 2)
    .replaceAll(world.replicas[0].url, "https://api.example")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>")
    .replace(/~[\w-]{22}(?=")/g, "~<digest>")
    .replace(/~[0-9a-z]{6}(?=~)/g, "~<time>")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (guid) => {
      const name = Object.entries(real).find(([, known]) => known === guid)?.[0] ?? `guid-${guids.size + 1}`;
      if (!guids.has(guid)) guids.set(guid, `<${name}>`);
      return guids.get(guid) ?? "";
    });
  return `${text}\n`;
}

const bodies: readonly (readonly [string, () => string | Promise<string>])[] = [
  ["root", () => "/"],
  ["v3", () => "/v3"],
  ["info", () => "/v3/info"],
  ["whoami", () => "/whoami"],
  ["organization", () => `/v3/organizations/${real["organization"]}`],
  ["space", () => `/v3/spaces/${real["space"]}`],
  ["space-feature", () => `/v3/spaces/${real["space"]}/features/ssh`],
  ["role", () => `/v3/roles/${real["role"]}`],
  ["user", () => "/v3/users/ann"],
  ["domain", () => `/v3/domains/${real["domain"]}`],
  ["private-domain", () => `/v3/domains/${real["private-domain"]}`],
  ["route", () => `/v3/routes/${real["route"]}`],
  ["destinations", () => `/v3/routes/${real["route"]}/destinations`],
  ["buildpack", () => `/v3/buildpacks/${real["buildpack"]}`],
  ["stack", () => `/v3/stacks/${real["stack"]}`],
  ["organization-quota", () => `/v3/organization_quotas/${real["organization-quota"]}`],
  ["app", () => `/v3/apps/${real["app"]}`],
  ["app-env", () => `/v3/apps/${real["app"]}/env`],
  ["process", () => `/v3/processes/${real["process"]}`],
  ["package", () => `/v3/packages/${real["package"]}`],
  ["route-page", () => `/v3/routes?per_page=1&include=domain,space.organization`],
  ["job", () => jobPath({ operation: "organization.delete", guid: real["organization"] ?? "" })],
  [
    "job-failed",
    () => jobPath({ operation: "space.apply_manifest", guid: real["space"] ?? "", errors: ["it is red"] }),
  ],
  ["not-found", () => "/v3/apps/nothing"],
];

test.each(bodies)("%s", async (name, path) => {
  const { json } = await world.replicas[0].call("admin", "GET", await path());
  await expect(normalised(json)).toMatchFileSnapshot(`golden/${name}.golden.json`);
});
