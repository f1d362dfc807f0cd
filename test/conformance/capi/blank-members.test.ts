// Null and empty members of bodies: each endpoint takes those that CAPI's message class takes, and no others. blank-members.json holds the facts.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createEndpoints } from "../../../api/endpoints.ts";
import type { Endpoint } from "../../../api/routing/endpoint.ts";
import type { Services } from "../../../api/routing/services.ts";

/** A valid body, and for each of its members, by dotted path, the blank values that CAPI takes in its place. */
interface BodyOfEndpoint {
  endpoint: string;
  body: object;
  takes?: Record<string, string>;
  /** Blank values for which CAPI answers 500: there is nothing to be like. */
  fails?: Record<string, string>;
}

const BLANK: Readonly<Record<string, unknown>> = { null: null, "''": "", "[]": [], "{}": {} };

const bodies = JSON.parse(readFileSync(new URL("blank-members.json", import.meta.url), "utf8")) as BodyOfEndpoint[];

/** Where our schema differs, as `endpoint member=value`. */
const differences: readonly { reason: string; on: RegExp }[] = [
  {
    reason: "CAPI takes an empty list or object for a text or a switch, and keeps nonsense",
    on: /=(?:\[\]|\{\})$/,
  },
  {
    reason: "CAPI's class takes no app, space, domain, organization, instance or plan, and its next step answers 422",
    on: /relationships(?:\.(?:app|space|domain|organization|service_instance|service_plan))?(?:\.data)?(?:\.guid)?=/,
  },
  {
    reason: "CAPI's class takes a blank name, and its model answers 422",
    on: /^(?:POST|PATCH) \S+ (?:name|relationships\.user\.data\.username|username|origin)=(?:null|'')$/,
  },
  { reason: "CAPI finds no object with an empty GUID, and answers 422", on: /(?:data|organizations)\.0(?:\.guid)?=/ },
  {
    reason: "CAPI's job fails at a broker without address or credentials",
    on: /service_brokers\/:guid (?:url|authentication)=null$/,
  },
  { reason: "CAPI keeps a process type without a name", on: /sidecars\S* process_types\.0=/ },
  { reason: "CAPI has no lifecycle with an empty name, and answers 422", on: /POST \/v3\/apps lifecycle\.type=''$/ },
  { reason: "CAPI's task without a command fails", on: /tasks command=''$/ },
  { reason: "CAPI keeps credentials that are no object", on: /service_instances\S* credentials=''$/ },
  {
    reason: "the name of a key is judged by the handler, since only the type says whether it is one",
    on: /service_credential_bindings name=\S+ is taken here$/,
  },
];

const shapeOf = (path: string): string => path.replace(/:\w+/g, "{}");
const rows = new Map(createEndpoints({} as Services).map((row) => [`${row.method} ${shapeOf(row.path)}`, row]));

function rowOf(endpoint: string): Endpoint {
  const row = rows.get(shapeOf(endpoint));
  if (!row?.body) throw new Error(`${endpoint} takes no body`);
  return row;
}

function listPaths(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...listPaths(inner).map((path) => `${key}.${path}`)]);
}

function replaceAt(body: object, path: string, value: unknown): object {
  const copy = structuredClone(body);
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const parent = keys.reduce((node, key) => node[key] as Record<string, unknown>, copy as Record<string, unknown>);
  parent[last] = value;
  return copy;
}

const namesBlank = (words: string | undefined, name: string): boolean => words?.split(" ").includes(name) ?? false;

function listDifferences({ endpoint, body, takes = {}, fails = {} }: BodyOfEndpoint): string[] {
  const schema = rowOf(endpoint).body;
  const paths = [...new Set([...listPaths(body), ...Object.keys(takes)])];
  const replaced = paths.flatMap((path) => Object.entries(BLANK).map(([name, value]) => ({ path, name, value })));
  return replaced
    .filter(({ path, name }) => !namesBlank(fails[path], name))
    .map((one) => ({ ...one, isTaken: namesBlank(takes[one.path], one.name) }))
    .filter(({ path, value, isTaken }) => schema?.safeParse(replaceAt(body, path, value)).success !== isTaken)
    .map(({ path, name, isTaken }) => `${endpoint} ${path}=${name}${isTaken ? "" : " is taken here"}`);
}

const found = [...new Set(bodies.flatMap(listDifferences))].sort();

test.each(bodies)("$endpoint takes the body that CAPI takes", ({ endpoint, body }) => {
  expect(rowOf(endpoint).body?.safeParse(body)).toMatchObject({ success: true });
});

test("a member that is null or empty is taken where CAPI takes it, and refused where CAPI refuses it", () => {
  expect(found.filter((difference) => !differences.some(({ on }) => on.test(difference)))).toEqual([]);
});

test.each(differences)("there is still a difference because $reason", ({ on }) => {
  expect(found.some((difference) => on.test(difference))).toBe(true);
});
