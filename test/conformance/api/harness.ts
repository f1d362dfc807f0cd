// Short ways to say what most tests of the API do: call as admin, make an org, a space, an app, and read what is wrong.
import { expect, vi } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { newGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { type Answer, type ApiTestEnv, type TestUser, startApiTestEnv } from "./test-env.ts";

/** Members that tests read of objects that the API made. */
// Bodies are what is under test.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type CreatedResource = any;

export interface ApiHarness {
  testEnv: ApiTestEnv;
  call(method: string, path: string, body?: unknown, person?: TestUser): Promise<Answer>;
  /** POST that must be 201; the body. */
  make(path: string, body: unknown): Promise<CreatedResource>;
  /** GET that must be 200; the body. */
  read(path: string): Promise<CreatedResource>;
  /** Values of one member over all of a list. */
  column(path: string, member: string): Promise<string[]>;
  org(name: string): Promise<CreatedResource>;
  space(org: CreatedResource, name: string): Promise<CreatedResource>;
  app(space: CreatedResource, name: string, more?: object): Promise<CreatedResource>;
  /** A droplet as a builder makes it. */
  droplet(app: CreatedResource, name: string, more?: object): Promise<CreatedResource>;
  manifest(space: CreatedResource, text: string, action?: string): Promise<Answer>;
  /** Follows an answer's Location until the job is over. */
  job(answer: Answer): Promise<CreatedResource>;
}

/** `{ data: { guid } }`. */
export const to = (object: { guid: string } | string): object => ({
  data: { guid: typeof object === "string" ? object : object.guid },
});

/** Status, title and detail of an error. */
export function fault({ status, json }: Answer): [number, string, string] {
  const { title, detail } = json.errors?.[0] ?? {};
  return [status, title, detail];
}

export async function startApiHarness(start?: Parameters<typeof startApiTestEnv>[0]): Promise<ApiHarness> {
  const testEnv = await startApiTestEnv(start);
  const [replica] = testEnv.replicas;
  const bench: ApiHarness = {
    testEnv,
    call: (method, path, body, person = "admin") => replica.call(person, method, path, body),
    async make(path, body) {
      const answer = await bench.call("POST", path, body);
      expect([path, answer.status, answer.json.errors]).toEqual([path, 201, undefined]);
      return answer.json;
    },
    async read(path) {
      const answer = await bench.call("GET", path);
      expect([path, answer.status, answer.text.startsWith('{"errors"') && answer.text]).toEqual([path, 200, false]);
      return answer.json;
    },
    column: async (path, member) =>
      (await bench.read(path)).resources.map((one: Record<string, string>) => one[member]),
    org: (name) => bench.make("/v3/organizations", { name }),
    space: (org, name) => bench.make("/v3/spaces", { name, relationships: { organization: to(org) } }),
    app: (space, name, more = {}) => bench.make("/v3/apps", { name, relationships: { space: to(space) }, ...more }),
    droplet: (app, name, more = {}) => putDroplet(bench, app, name, more),
    manifest: (space, text, action = "actions/apply_manifest") =>
      replica.send("POST", `/v3/spaces/${space.guid}/${action}`, {
        body: text,
        headers: { authorization: "bearer admin-token", "content-type": "application/x-yaml" },
      }),
    job: (answer) => followJob(bench, answer),
  };
  return bench;
}

async function putDroplet(
  bench: ApiHarness,
  app: CreatedResource,
  name: string,
  more: object,
): Promise<CreatedResource> {
  const found = bench.testEnv.replicas[0].api.cache.store(App).byIndex("guid", app.guid)[0];
  if (!found) throw new Error("the app is not there");
  const { name: appName, namespace } = found.metadata;
  const guid = newGUID();
  await bench.testEnv.kube.create(Droplet, {
    metadata: { name, namespace, labels: { [LABELS.guid]: guid } },
    spec: {
      appRef: { name: appName },
      kind: "host",
      root: "/app",
      lifecycleType: "buildpack",
      content: { digest: `sha256:${"a".repeat(64)}`, size: 1 },
      processTypes: { web: "npm start", worker: "npm run work" },
      stack: "base",
      ...more,
    },
  });
  await vi.waitFor(async () => expect((await bench.call("GET", `/v3/droplets/${guid}`)).status).toBe(200), {
    timeout: 5000,
    interval: 20,
  });
  return bench.read(`/v3/droplets/${guid}`);
}

async function followJob(bench: ApiHarness, answer: Answer): Promise<CreatedResource> {
  expect([answer.status, answer.json.errors, answer.text]).toEqual([202, undefined, ""]);
  const path = new URL(answer.headers.get("location") ?? "").pathname;
  await vi.waitFor(async () => expect((await bench.read(path)).state).not.toBe("PROCESSING"), {
    timeout: 10_000,
    interval: 30,
  });
  return bench.read(path);
}
