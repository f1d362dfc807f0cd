// The requests that brokers get, by the OpenAPI document of the Open Service Broker API. No registry of packages has it: OSB_OPENAPI is the path of a copy of openapi.yaml.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import {
  toBind,
  toBindingPoll,
  toRead,
  toUnbind,
  type BoundApp,
} from "../../../controllers/service-binding/broker-requests.ts";
import {
  toDeprovision,
  toInstanceRead,
  toPoll,
  toProvision,
  toUpdate,
} from "../../../controllers/service-instance/broker-requests.ts";
import type { BrokerRequest } from "../../../controllers/shared/osb/call-broker.ts";
import { TEST_CATALOG } from "../../service-broker/behaviour.ts";

const file = process.env["OSB_OPENAPI"];
const reason = file === undefined ? "OSB_OPENAPI names no copy of its openapi.yaml" : undefined;

interface Operation {
  parameters?: { $ref?: string; name?: string; in?: string }[];
  requestBody?: { content: { "application/json": { schema: object } } };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; parameters: Record<string, { name: string; in: string }> };
}
const document = file === undefined ? undefined : (parse(readFileSync(file, "utf8")) as Document);

/** As JSON Schema: with the document's other schemas, and references that lead to them. */
function toSchema(schema: object): z.ZodType {
  const text = JSON.stringify({ ...schema, $defs: document?.components.schemas }).replaceAll(
    "#/components/schemas/",
    "#/$defs/",
  );
  return z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0]);
}

function findOperation({ method, path }: BrokerRequest): Operation {
  const { pathname } = new URL(path, "http://broker");
  const found = Object.entries(document?.paths ?? {}).find(([template]) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname),
  );
  const operation = found?.[1][method.toLowerCase()];
  if (!operation) throw new Error(`the document has no ${method} ${pathname}`);
  return operation;
}

function queryNames(operation: Operation): string[] {
  return (operation.parameters ?? []).flatMap((one) => {
    const parameter = one.$ref === undefined ? one : document?.components.parameters[one.$ref.split("/").at(-1) ?? ""];
    return parameter?.in === "query" && parameter.name !== undefined ? [parameter.name] : [];
  });
}

const named = { guid: "g", name: "n" };
const place = {
  tenancy: { space: named, org: named, orgNamespace: "acme", orgObjectName: "acme" },
  orgAnnotations: { "provider.example/contact": "me" },
  spaceAnnotations: {},
};
const provided = { brokerRef: { name: "b" }, offeringID: "o", planID: "p", maintenanceVersion: "1.0.0" };
const facts = { guid: "I", name: "db", annotations: { "provider.example/a": "b" }, place };
const key = { instanceGUID: "I", guid: "B" };
const app: BoundApp = { guid: "A", annotations: {} };
const of = { place, appSpaceGUID: "S", parameters: { a: 1 }, isRetrievable: true } as const;
const none = { app: undefined, routeAddress: undefined, predecessorGUID: undefined };

describe.skipIf(reason)(`requests by openapi.yaml${reason ? `: ${reason}` : ""}`, () => {
  test.each<[string, BrokerRequest]>([
    ["provision", toProvision(facts, provided, { a: 1 })],
    ["update", toUpdate(facts, { before: provided, target: { ...provided, maintenanceVersion: "2.0.0" } }, { a: 1 })],
    ["deprovision", toDeprovision("I", provided)],
    ["poll", toPoll("I", provided, "op")],
    ["fetch", toInstanceRead("I", provided)],
    ["bind an app", toBind(key, provided, { ...of, ...none, app })],
    ["bind a route", toBind(key, provided, { ...of, ...none, routeAddress: "host.example/path" })],
    ["make a key", toBind(key, provided, { ...of, ...none })],
    ["rotate", toBind(key, provided, { ...of, ...none, app, parameters: undefined, predecessorGUID: "C" })],
    ["unbind", toUnbind(key, provided)],
    ["poll a binding", toBindingPoll(key, provided, "op")],
    ["fetch a binding", toRead(key, provided)],
  ])("%s", (_what, request) => {
    const operation = findOperation(request);
    const asked = [...new URL(request.path, "http://broker").searchParams.keys()];
    expect(asked.filter((name) => !queryNames(operation).includes(name))).toEqual([]);
    const schema = operation.requestBody?.content["application/json"].schema;
    expect(schema === undefined).toBe(request.body === undefined);
    if (schema) expect(toSchema(schema).safeParse(JSON.parse(JSON.stringify(request.body))).error).toBeUndefined();
  });

  test("a wrong request is refused, and the catalog of the test broker is right", () => {
    const schemas = document?.components.schemas ?? {};
    expect(toSchema(schemas["ServiceBindingRequest"] ?? {}).safeParse({ plan_id: 7 }).success).toBe(false);
    expect(toSchema(schemas["Catalog"] ?? {}).safeParse(TEST_CATALOG).error).toBeUndefined();
  });
});
