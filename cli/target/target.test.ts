// Which org and space a command uses when none is targeted, and what `cup target` says of it.
import { expect, test } from "vitest";
import type { ApiClient, Resource } from "../api/client.ts";
import { contextFor, type Context } from "../context.ts";
import { silentProgress } from "../output.ts";
import { describeTarget } from "./describe-target.ts";
import { describeInUse, target } from "./target.ts";

const toResources = (names: readonly string[]): Resource[] => names.map((name) => ({ guid: `${name}-guid`, name }));

function contextWith(
  orgs: readonly string[],
  spaces: readonly string[],
  more: object = {},
  progress = silentProgress,
): Context {
  const api = {
    list: (path: string) => Promise.resolve(toResources(path === "/v3/organizations" ? orgs : spaces)),
    request: () => Promise.resolve({ name: "admin" }),
  } as unknown as ApiClient;
  return contextFor({ api: "http://api", ...more }, api, progress);
}

test("the only org and space are used and shown", async () => {
  const context = contextWith(["local"], ["dev"]);
  expect(await context.space()).toMatchObject({ guid: "dev-guid" });
  expect((await target(context, {})).json).toEqual({ api: "http://api", user: "admin", org: "local", space: "dev" });
});

test("a space is told once, when it is used, not when it is asked for early", async () => {
  const steps: string[] = [];
  const context = contextWith(["local"], ["dev"], {}, { ...silentProgress, step: (text) => void steps.push(text) });
  context.prefetchSpace();
  await new Promise(setImmediate);
  expect(steps).toEqual([]);
  await Promise.all([context.space(), context.space()]);
  expect(steps).toEqual(["Using space dev of org local, the only one; cup target chooses another"]);
});

test("several spaces: the sentence names them and the next step", async () => {
  const context = contextWith(["local"], ["dev", "test"]);
  await expect(context.space()).rejects.toMatchObject({
    kind: "target",
    message: "which space? There are 2: dev, test",
    next: "cup target --space NAME",
  });
  expect((await target(context, {})).text.at(-1)).toMatch(
    /^space: +which space\? There are 2: dev, test. cup target --space NAME$/,
  );
});

test("a targeted space is used among several", async () => {
  const chosen = { org: { guid: "o", name: "local" }, space: { guid: "s", name: "test" } };
  const context = contextWith(["local"], ["dev", "test"], chosen);
  expect((await target(context, {})).json).toMatchObject({ org: "local", space: "test" });
});

test("without an org no space can be chosen", async () => {
  const { text } = describeTarget(await describeInUse(contextWith([], [])), "admin");
  expect(text.slice(-2).map((line) => line.replace(/ +/g, " "))).toEqual([
    "org: you have no org. cup create-org NAME",
    "space: none",
  ]);
});

test("the only space is remembered when it is used, so that a second one does not ask", async () => {
  const remembered: unknown[] = [];
  const api = {
    list: (path: string) => Promise.resolve(toResources(path === "/v3/organizations" ? ["local"] : ["dev"])),
  } as unknown as ApiClient;
  const context = contextFor({ api: "http://api" }, api, silentProgress, (chosen) => remembered.push(chosen));
  await context.space();
  await context.space();
  const [first] = remembered;
  expect(first).toEqual({ org: { guid: "local-guid", name: "local" }, space: { guid: "dev-guid", name: "dev" } });
});
