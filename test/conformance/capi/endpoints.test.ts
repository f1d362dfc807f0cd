// The OpenAPI document beside CAPI's endpoints: same parameters, same orders and includes, same members of bodies. Each difference is listed with its reason.
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { createEndpoints } from "../../../api/endpoints.ts";
import { openApiDocument } from "../../../api/openapi/document.ts";
import type { Services } from "../../../api/routing/services.ts";
import { capiEndpoints, type CAPIEndpoint, wordsOf } from "./endpoint-table.ts";

interface Schema {
  type?: string;
  enum?: string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

interface Operation {
  operationId: string;
  parameters: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
}

const endpoints = createEndpoints({} as Services);
const document = openApiDocument(endpoints) as { paths: Record<string, Record<string, Operation>> };

function operationOf(key: string): Operation | undefined {
  const [method = "", path = ""] = key.split(" ");
  const shape = (text: string): string => text.replace(/\{\w+\}|:\w+/g, "{}");
  const found = Object.entries(document.paths).find(([served]) => shape(served) === shape(path))?.[1];
  return found?.[method.toLowerCase()];
}

const served = Object.keys(capiEndpoints).filter((key) => operationOf(key));

/** Where the document and CAPI differ, by endpoint. */
const differences: Readonly<Record<string, readonly string[]>> = {
  // Credentials of an image are given when its package is made.
  "PATCH /v3/packages/:guid": ["the body lacks username", "the body lacks password"],
  // Bits come from here rather than from a blob store that clients reach.
  "GET /v3/packages/:guid/download": ["the answer lacks 302", "the answer has 200"],
  "GET /v3/droplets/:guid/download": ["the answer lacks 302", "the answer has 200"],
  // For what stages on Cloud Foundry; here controllers write the results of builds.
  "PATCH /v3/builds/:guid": [
    "the body lacks state",
    "the body lacks error",
    "the body lacks lifecycle.data.image",
    "the body lacks lifecycle.data.processTypes",
  ],
  "PATCH /v3/droplets/:guid": ["the body lacks image"],
  // CAPI accepts these as well, and ignores them.
  "PATCH /v3/space_quotas/:guid": ["the body has domains", "the body has domains.total_domains"],
  "GET /v3/stacks/:guid/apps": ["the query has stacks"],
  // More than CAPI's.
  "GET /v3/feature_flags": ["the query has names"],
};

const listParameters = ["page", "per_page", "order_by", "created_ats", "updated_ats", "guids"];

function queryOf({ list, query }: CAPIEndpoint): string[] {
  return [...(list ? listParameters : []), ...wordsOf(query)].sort();
}

/** Parameters by name, without those that compare: `created_ats[gt]`, `target_guids[not]`. */
function parametersOf({ parameters }: Operation): Map<string, Schema> {
  return new Map(
    parameters.filter((one) => one.in === "query" && !one.name.includes("[")).map(({ name, schema }) => [name, schema]),
  );
}

/** Words of a parameter with fixed values, without the signs that reverse an order. */
function wordsOfParameter(schema: Schema | undefined): string[] {
  const words = schema?.enum ?? schema?.items?.enum ?? [];
  return [...new Set(words.map((word) => word.replace(/^[+-]/, "")))].sort();
}

/** Dotted paths of all members; `[]` follows a list's name. */
function membersOf(schema: Schema, prefix = ""): string[] {
  const variants = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...variants.flatMap((one) => membersOf(one, prefix)),
    ...(schema.items ? membersOf(schema.items, `${prefix}[]`) : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
      const path = prefix ? `${prefix}.${name}` : name;
      return [path, ...membersOf(child, path)];
    }),
  ];
}

function missing(what: string, expected: readonly string[], actual: readonly string[]): string[] {
  return [
    ...expected.filter((one) => !actual.includes(one)).map((one) => `${what} lacks ${one}`),
    ...actual.filter((one) => !expected.includes(one)).map((one) => `${what} has ${one}`),
  ];
}

function bodyDifferences(capi: CAPIEndpoint, operation: Operation): string[] {
  const [media, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (media !== "application/json" && !capi.body) return [];
  const actual = [...new Set(membersOf(content?.schema ?? {}))];
  const expected = wordsOf(capi.body).map((path) => path.replace(/\.data\[\]$/, ".data[].guid"));
  const isPart = (one: string, other: string): boolean => other.startsWith(`${one}.`) || other.startsWith(`${one}[`);
  // A parent or child of something expected is no difference of its own.
  const surplus = actual.filter(
    (one) => !expected.some((other) => one === other || isPart(one, other) || isPart(other, one)),
  );
  return missing("the body", expected, [...expected.filter((one) => actual.includes(one)), ...surplus]);
}

function differencesOf(key: string, operation: Operation): string[] {
  const capi = capiEndpoints[key] as CAPIEndpoint;
  const parameters = parametersOf(operation);
  const orders = [...(capi.list ? ["created_at", "updated_at"] : []), ...wordsOf(capi.order_by)].sort();
  const statuses = Object.keys(operation.responses).filter((status) => /^[23]/.test(status));
  return [
    ...missing("the query", queryOf(capi), [...parameters.keys()]),
    ...(parameters.has("order_by") ? missing("order_by", orders, wordsOfParameter(parameters.get("order_by"))) : []),
    ...(parameters.has("include")
      ? missing("include", wordsOf(capi.include), wordsOfParameter(parameters.get("include")))
      : []),
    ...missing("the answer", [capi.status].flat().map(String), statuses),
    ...bodyDifferences(capi, operation),
  ];
}

describe("the OpenAPI document", () => {
  test("is valid OpenAPI 3", async () => {
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  });

  test("names each operation once, for generated clients", () => {
    const names = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });
});

test("every endpoint of CAPI in scope is served", () => {
  expect(Object.keys(capiEndpoints).filter((key) => !served.includes(key))).toEqual([]);
});

test.each(served)("%s takes and gives what CAPI's does", (key) => {
  const operation = operationOf(key);
  expect(operation && differencesOf(key, operation)).toEqual(differences[key] ?? []);
});

test("no listed difference is out of date", () => {
  expect(Object.keys(differences).filter((key) => !served.includes(key))).toEqual([]);
});

/** Lists with values of order_by of their own. */
const ownOrders: Readonly<Record<string, string>> = {
  "GET /v3/feature_flags": "name",
  "GET /v3/app_usage_events": "created_at",
  "GET /v3/service_usage_events": "created_at",
};

describe("order_by", () => {
  const lists = served.filter((key) => operationOf(key)?.parameters.some(({ name }) => name === "order_by"));
  const rowOf = (key: string) => endpoints.find(({ method, path }) => `${method} ${path}` === key);

  test("every list of CAPI has it", () => {
    const ordered = served.filter((key) => capiEndpoints[key]?.list ?? capiEndpoints[key]?.order_by);
    expect(lists.toSorted()).toEqual(ordered.toSorted());
  });

  test.each(lists)("%s takes each of CAPI's values in both directions, and names them in its refusal", (key) => {
    const query = rowOf(key)?.query;
    const orders = wordsOf(
      ownOrders[key] ?? ["created_at updated_at", capiEndpoints[key]?.order_by].filter(Boolean).join(" "),
    );
    for (const order of orders.flatMap((one) => [one, `+${one}`, `-${one}`]))
      expect([order, query?.safeParse({ order_by: order }).success]).toEqual([order, true]);
    const refused = ["nope", "guid", "--created_at", "created_at,name"].map((order_by) =>
      query?.safeParse({ order_by }).error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`),
    );
    const words = `order_by can only be: ${orders.map((one) => `'${one}'`).join(", ")}`;
    expect(refused).toEqual([[words], [words], [words], [words]]);
  });
});

/** Endpoints of CAPI that warn, and what about; text: why ours does not. Warnings of jobs are about brokers alone, which are not there yet. */
const warnings: Readonly<Record<string, { about: string } | string>> = {
  "POST /v3/apps": { about: "a deprecated stack" },
  "PATCH /v3/apps/:guid": { about: "a deprecated or restricted stack" },
  "POST /v3/builds": { about: "a deprecated or restricted stack" },
  "PATCH /v3/stacks/:guid": { about: "another state of the default stack" },
  "GET /v3/processes/:guid/stats": { about: "usage that nobody can tell now" },
  "GET /v3/apps/:guid/processes/:type/stats": { about: "usage that nobody can tell now" },
  "PATCH /v3/feature_flags/:name": "no configuration overrides a flag here",
};

test("X-Cf-Warnings comes from the endpoints that CAPI's comes from", () => {
  const warning = endpoints.filter(({ handler }) => /\bwarn\b/.test(handler.toString()));
  const expected = Object.entries(warnings).filter(([, why]) => typeof why !== "string");
  expect(warning.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(expected.map(([key]) => key).sort());
});
