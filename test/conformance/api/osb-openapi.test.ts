// The requests that brokers get, by the OpenAPI document of the Open Service Broker API. No registry of packages has it: OSB_OPENAPI is the path of a copy of openapi.yaml. OSB_CATALOG is that of a real broker's catalog.
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
import { callBroker, type BrokerRequest } from "../../../controllers/shared/osb/call-broker.ts";
import { parseCatalog } from "../../../controllers/shared/osb/catalog.ts";
import { TEST_CATALOG } from "../../service-broker/behaviour.ts";
import { startTestBroker } from "../../service-broker/test-broker.ts";

const file = process.env["OSB_OPENAPI"];
const reason = file === undefined ? "OSB_OPENAPI names no copy of its openapi.yaml" : undefined;

interface Operation {
  responses?: Record<string, { content?: { "application/json": { schema: object } } }>;
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

  test("what the test broker answers is right: done at once, by itself, again, and refused", async () => {
    const broker = await startTestBroker();
    const statuses = new Set<string>();
    const send = async (request: BrokerRequest): Promise<void> => {
      const { url, username, password } = broker;
      const access = { url, username, password };
      const answer = await callBroker(access, request, AbortSignal.timeout(10_000));
      if (answer.kind !== "answer") throw new Error(`${request.path}: ${answer.why}`);
      const schema = findOperation(request).responses?.[answer.status]?.content?.["application/json"].schema;
      expect(schema, `${request.method} ${request.path} is answered ${answer.status}`).toBeDefined();
      expect(toSchema(schema ?? {}).safeParse(answer.body).error, request.path).toBeUndefined();
      statuses.add(`${request.method} ${answer.status}`);
    };
    const ids = { ...provided, offeringID: "service-1", planID: "plan-small" };
    const target = { ...ids, planID: "plan-large" };
    const make = toProvision(facts, ids, { a: 1 });
    const bind = toBind(key, ids, { ...of, ...none, app });
    const change = toUpdate(facts, { before: ids, target }, undefined);
    const [unbind, remove] = [toUnbind(key, ids), toDeprovision("I", ids)];
    const [read, readBinding] = [toInstanceRead("I", ids), toRead(key, ids)];
    const other = toProvision(facts, ids, { a: 2 });
    try {
      await send({ method: "GET", path: "/v2/catalog" });
      for (const request of [make, make, other, bind, bind, read, readBinding, change, unbind, remove, remove])
        await send(request);
      const operations = ["provision", "update", "deprovision", "bind", "unbind"] as const;
      broker.set({ behaviours: Object.fromEntries(operations.map((name) => [name, { async: { polls: 1 } }])) });
      const [poll, pollBinding] = [toPoll("I", ids, "op"), toBindingPoll(key, ids, "op")];
      for (const request of [make, bind, poll, poll, bind, pollBinding, pollBinding, change, poll, poll])
        await send(request);
      await send({ ...make, path: make.path.replace("accepts_incomplete=true", "accepts_incomplete=false") });
      for (const request of [unbind, pollBinding, pollBinding, remove, poll, poll]) await send(request);
    } finally {
      await broker.close();
    }
    for (const seen of ["PUT 200", "PUT 201", "PUT 202", "PUT 409", "PUT 422", "PATCH 202", "DELETE 202", "DELETE 410"])
      expect([...statuses]).toContain(seen);
  });

  const catalog = process.env["OSB_CATALOG"];
  test.skipIf(catalog === undefined)("the catalog of a real broker is right, and is taken", () => {
    const body = JSON.parse(readFileSync(catalog ?? "", "utf8")) as { services: { plans: object[] }[] };
    expect(toSchema(document?.components.schemas["Catalog"] ?? {}).safeParse(body).error).toBeUndefined();
    const services = body.services.map(({ plans }) => ({ plans: plans.map(() => expect.anything() as unknown) }));
    expect(parseCatalog(body)).toMatchObject({ catalog: { services } });
  });

  test("a wrong request is refused, and the catalog of the test broker is right", () => {
    const schemas = document?.components.schemas ?? {};
    expect(toSchema(schemas["ServiceBindingRequest"] ?? {}).safeParse({ plan_id: 7 }).success).toBe(false);
    expect(toSchema(schemas["Catalog"] ?? {}).safeParse(TEST_CATALOG).error).toBeUndefined();
  });
});
