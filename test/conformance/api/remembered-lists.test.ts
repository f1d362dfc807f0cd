// Lists and pages are made again only when something they show has changed. Proven by counts of reads and presentations.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Claim } from "../../../crds/claim/claim.ts";
import { startApiHarness, type ApiHarness } from "./harness.ts";

let bench: ApiHarness;
let here: { guid: string };
let elsewhere: { guid: string };
let app: { guid: string };

beforeAll(async () => {
  bench = await startApiHarness();
  const org = await bench.org("remembered");
  here = await bench.space(org, "here");
  elsewhere = await bench.space(org, "elsewhere");
  app = await bench.app(here, "one");
  await bench.app(here, "two");
  await bench.app(elsewhere, "other");
  await bench.testEnv.idle();
}, 120_000);
afterAll(() => bench?.testEnv.stop());

/** How often a read looked for a claim, and for an app by its GUID's index, which every presentation does. */
async function countReads(path: string): Promise<{ claims: number; spaces: number; names: string[] }> {
  const { cache } = bench.testEnv.replicas[0].api;
  const claims = vi.spyOn(cache.store(Claim), "find");
  const spaces = vi.spyOn(cache, "spaceOf");
  try {
    const { resources } = await bench.read(path);
    return {
      claims: claims.mock.calls.length,
      spaces: spaces.mock.calls.length,
      names: resources.map((one: { name?: string; type?: string }) => one.name ?? one.type),
    };
  } finally {
    claims.mockRestore();
    spaces.mockRestore();
  }
}

async function rename(guid: string, name: string): Promise<void> {
  expect((await bench.call("PATCH", `/v3/apps/${guid}`, { name })).status).toBe(200);
  await bench.testEnv.idle();
}

test.each([
  ["apps", () => `/v3/apps?space_guids=${here.guid}&order_by=name`],
  ["processes", () => `/v3/processes?space_guids=${here.guid}`],
  ["processes of an app", () => `/v3/apps/${app.guid}/processes`],
])("a page of %s is neither found nor presented again after a write in another space", async (_what, path) => {
  await countReads(path());
  const before = await countReads(path());
  const others = (await bench.read(`/v3/apps?space_guids=${elsewhere.guid}`)).resources;
  await rename(others[0].guid, `other-${Math.random().toString(36).slice(2)}`);
  expect(await countReads(path())).toEqual(before);
  expect(before.spaces).toBe(0);
});

test("a page shows a write in its own space, a rename and a release of its claim included", async () => {
  const path = `/v3/apps?space_guids=${here.guid}&order_by=name`;
  expect((await countReads(path)).names).toEqual(["one", "two"]);
  await rename(app.guid, "uno");
  expect((await countReads(path)).names).toEqual(["two", "uno"]);
  await rename(app.guid, "one");
});

test("under a filter by name, claims are looked up only for the apps of that name", async () => {
  const path = (name: string): string => `/v3/apps?names=${name}`;
  const none = await countReads(path("nobody"));
  const one = await countReads(path("one"));
  expect([none.names, one.names]).toEqual([[], ["one"]]);
  expect(one.claims - none.claims).toBe(1);
});
