// Network policies at the API and by kubectl: rights on both sides, repetition, lists by what the caller sees, and the condition.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { AppPolicy } from "../../../crds/app-policy/app-policy.ts";
import { Space } from "../../../crds/space/space.ts";
import { NetworkPolicy } from "../../../kube/api/builtin.ts";
import { type ApiHarness, startApiHarness, to } from "./harness.ts";
import type { Answer } from "./test-env.ts";

const PATH = "/networking/v1/external/policies";
const PATIENCE = { timeout: 20_000 };
let bench: ApiHarness;
let front: { guid: string };
let back: { guid: string };
let web: { guid: string };
let api: { guid: string };
beforeAll(async () => {
  bench = await startApiHarness();
  const org = await bench.org("org");
  [front, back] = [await bench.space(org, "front"), await bench.space(org, "back")];
  web = await bench.make("/v3/apps", { name: "web", relationships: { space: to(front) } });
  api = await bench.make("/v3/apps", { name: "api", relationships: { space: to(back) } });
  const role = (type: string, user: string, relationship: object): Promise<unknown> =>
    bench.make("/v3/roles", { type, relationships: { user: { data: { username: user } }, ...relationship } });
  for (const user of ["ann", "bob"]) await role("organization_user", user, { organization: to(org) });
  await role("space_developer", "ann", { space: to(front) });
  await role("space_developer", "ann", { space: to(back) });
  await role("space_developer", "bob", { space: to(back) });
});
afterAll(() => bench.testEnv.stop());

const policy = (destination: object = {}): object => ({
  source: { id: web.guid },
  destination: { id: api.guid, protocol: "tcp", ports: { start: 8080, end: 8090 }, ...destination },
});
const post = (path: string, user: "ann" | "bob", ...policies: object[]): Promise<Answer> =>
  bench.call("POST", path, { policies }, user);
const listFor = async (user: "ann" | "bob", query = ""): Promise<object> =>
  (await bench.call("GET", `${PATH}${query}`, undefined, user)).json as object;
const namespaceOf = async (name: string): Promise<string> =>
  (await bench.testEnv.kube.list(Space)).items.find(({ spec }) => spec.name === name)?.status?.namespace ?? "";

test("a policy is made once, listed by its apps to those who see both, and deleted", async () => {
  expect((await post(PATH, "ann", policy())).status).toBe(200);
  expect((await post(PATH, "ann", policy(), policy())).status).toBe(200);
  const whole = { total_policies: 1, policies: [policy()] };
  for (const query of ["", `?id=${web.guid}`, `?id=${api.guid}`, `?source_id=${web.guid}`, `?dest_id=${api.guid}`])
    expect([query, await listFor("ann", query)]).toEqual([query, whole]);
  for (const query of ["?id=other", `?source_id=${api.guid}`])
    expect([query, await listFor("ann", query)]).toEqual([query, { total_policies: 0, policies: [] }]);
  expect(await listFor("bob")).toEqual({ total_policies: 0, policies: [] });
  const namespaces = await Promise.all(["front", "back"].map(namespaceOf));
  await vi.waitFor(async () => {
    const made = (await bench.testEnv.kube.list(NetworkPolicy)).items.filter(({ metadata }) =>
      /^cupola-(in|e)gress-/.test(metadata.name),
    );
    expect(made.map(({ metadata }) => metadata.namespace).sort()).toEqual(namespaces.sort());
  }, PATIENCE);
  expect((await post(`${PATH}/delete`, "ann", policy())).status).toBe(200);
  expect((await post(`${PATH}/delete`, "ann", policy())).status).toBe(200);
  expect(await listFor("ann")).toEqual({ total_policies: 0, policies: [] });
  await vi.waitFor(async () => {
    const left = (await bench.testEnv.kube.list(NetworkPolicy)).items.map(({ metadata }) => metadata.name);
    expect(left.filter((name) => /^cupola-(in|e)gress-/.test(name))).toEqual([]);
  }, PATIENCE);
});

test("a policy ends with its apps: a later app of the same name has none", async () => {
  const make = (): Promise<{ guid: string }> =>
    bench.make("/v3/apps", { name: "short", relationships: { space: to(front) } });
  const ofShort = (guid: string): object => ({ ...policy(), source: { id: guid } });
  const first = await make();
  expect((await post(PATH, "ann", ofShort(first.guid))).status).toBe(200);
  const mine = async (): Promise<AppPolicy[]> =>
    (await bench.testEnv.kube.list(AppPolicy)).items.filter(({ spec }) => spec.source.app === "short");
  await vi.waitFor(async () => expect((await mine())[0]?.status?.sourceUID).toBeDefined(), PATIENCE);
  await bench.call("DELETE", `/v3/apps/${first.guid}`, undefined, "ann");
  await vi.waitFor(async () => expect(await mine()).toEqual([]), PATIENCE);
  const second = await make();
  expect(await listFor("ann", `?id=${second.guid}`)).toEqual({ total_policies: 0, policies: [] });
});

test("who has no right on the source makes none, by the API and by kubectl", async () => {
  const answer = await post(PATH, "bob", policy());
  expect(answer.status).toBe(422);
  const spec = {
    source: { namespace: await namespaceOf("front"), app: "web" },
    destination: { app: "api" },
    ports: { start: 80, end: 80 },
  };
  const draft = { metadata: { name: "by-kubectl", namespace: await namespaceOf("back") }, spec };
  await expect(bench.testEnv.as("bob").create(AppPolicy, draft)).rejects.toThrow(/in the namespace of its source/);
  const made = await bench.testEnv.as("ann").create(AppPolicy, draft);
  await vi.waitFor(async () => {
    const { status } = await bench.testEnv.kube.get(AppPolicy, made.metadata);
    expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ status: "True" });
  }, PATIENCE);
  await bench.testEnv.as("ann").delete(AppPolicy, made.metadata);
});

test.each([
  ["another protocol", { protocol: "icmp" }],
  ["ports the wrong way round", { ports: { start: 90, end: 80 } }],
  ["a port that is none", { ports: { start: 0, end: 80 } }],
  ["an app that is not there", { id: "nobody" }],
])("%s is refused", async (_what, destination) => {
  expect((await post(PATH, "ann", policy(destination))).status).toBe(422);
});
