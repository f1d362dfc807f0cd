// Objects of the cases about orgs, spaces, domains, quotas and the like, by the API as an admin.
import { expect } from "vitest";
import type { Named, Page } from "../../support/api.ts";
import { eventually } from "../../../eventually.ts";
import type { CaseRun } from "./case.ts";

/** A body as effects look into it. */
export type Shown = Named & Record<string, unknown>;

export function read<T = Shown>({ ground }: CaseRun, path: string): Promise<T> {
  return ground.api.admin.call<T>("GET", path);
}

/** The one object of this name; `kind` is the path below `/v3/`. */
export async function findNamed(run: CaseRun, kind: string, name = run.name): Promise<Shown | undefined> {
  const { resources } = await read<Page<Shown>>(run, `/v3/${kind}?names=${name}`);
  return resources[0];
}

export async function getNamed(run: CaseRun, kind: string, name = run.name): Promise<Shown> {
  const found = await findNamed(run, kind, name);
  if (!found) throw new Error(`no ${kind} is named ${name}`);
  return found;
}

/** An effect: an object of the case's name, or of `name`, is there and has these members. */
export function exists(kind: string, members: object = {}, name?: string): (run: CaseRun) => Promise<void> {
  return async (run) => expect(await findNamed(run, kind, name ?? run.name)).toMatchObject(members);
}

/** An effect: no object of the case's name, or of `name`, is there. */
export function isGone(kind: string, name?: string): (run: CaseRun) => Promise<void> {
  return (run) => eventually(async () => expect(await findNamed(run, kind, name ?? run.name)).toBeUndefined());
}

/** Makes one with the case's name, or `name`. */
export function makes(kind: string, more: object = {}): (run: CaseRun) => Promise<Shown> {
  return (run) => run.ground.api.admin.call<Shown>("POST", `/v3/${kind}`, { name: run.name, ...more });
}

export const to = (guid: string): object => ({ data: { guid } });

/** Makes a space in the cases' org. */
export function makeSpace(run: CaseRun, name = run.name): Promise<Shown> {
  const relationships = { organization: to(run.ground.orgGUID) };
  return run.ground.api.admin.call<Shown>("POST", "/v3/spaces", { name, relationships });
}

/** Makes a private domain of the cases' org. */
export function makeDomain(run: CaseRun, name = `${run.name}.example`): Promise<Shown> {
  const relationships = { organization: to(run.ground.orgGUID) };
  return run.ground.api.admin.call<Shown>("POST", "/v3/domains", { name, relationships });
}

/** Makes a route in the cases' space and shared domain, with the case's name as host. */
export function makeRoute(run: CaseRun, host = run.name): Promise<Shown> {
  const { spaceGUID, domainGUID } = run.ground;
  const relationships = { space: to(spaceGUID), domain: to(domainGUID) };
  return run.ground.api.admin.call<Shown>("POST", "/v3/routes", { host, relationships });
}

export async function findRoute(run: CaseRun, host = run.name): Promise<Shown | undefined> {
  return (await read<Page<Shown>>(run, `/v3/routes?hosts=${host}`)).resources[0];
}

/** The output is a table with this name in its first column. */
export function lists(output: string, name: string): void {
  expect(output.split("\n").map((line) => line.trim().split(/\s+/)[0])).toContain(name);
}
