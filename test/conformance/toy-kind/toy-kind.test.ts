// A kind in one place: a toy kind is added to the lists as a contributor adds one, and the platform does the rest.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Answer, TestUser } from "../api/test-env.ts";
import type { NamespaceKind } from "../../../crds/kind.ts";
import { LABELS } from "../../../crds/labels.ts";
import { eventually } from "../../eventually.ts";
import type * as Controllers from "../../../controllers/controllers.ts";
import type * as Definitions from "../../../crds/definitions.ts";
import type * as Endpoints from "../../../api/endpoints.ts";
import type * as Responses from "../../../api/openapi/responses.ts";
import type * as World from "./world.ts";

const LISTS = {
  definitions: "../../../crds/definitions.ts",
  endpoints: "../../../api/endpoints.ts",
  responses: "../../../api/openapi/responses.ts",
  controllers: "../../../controllers/controllers.ts",
} as const;

/** The line that a contributor adds to each list. Tables are made when their modules load, so all are loaded again. */
function addToLists(): void {
  vi.resetModules();
  vi.doMock(LISTS.definitions, async (original) => {
    const { DEFINITIONS } = await original<typeof Definitions>();
    const { Widget } = await import("./crds/widget.ts");
    const all = [...DEFINITIONS, Widget];
    return { DEFINITIONS: all, findDefinition: (kind: string) => all.find((one) => one.kind === kind) };
  });
  vi.doMock(LISTS.endpoints, async (original) => {
    const { createEndpoints } = await original<typeof Endpoints>();
    const { widgetEndpoints } = await import("./api/widget.ts");
    return {
      createEndpoints: (...given: Parameters<typeof createEndpoints>) => [
        ...createEndpoints(...given),
        ...widgetEndpoints,
      ],
    };
  });
  vi.doMock(LISTS.responses, async (original) => {
    const { responsesOf } = await original<typeof Responses>();
    const { widgetResponses } = await import("./api/widget.ts");
    return {
      responsesOf: (row: Parameters<typeof responsesOf>[0]) =>
        responsesOf(row) ?? widgetResponses[`${row.method} ${row.path}`],
    };
  });
  vi.doMock(LISTS.controllers, async (original) => {
    const { createControllers } = await original<typeof Controllers>();
    const { widgetController } = await import("./controllers/widget.ts");
    return {
      createControllers: (...given: Parameters<typeof createControllers>) => [
        ...createControllers(...given),
        widgetController,
      ],
    };
  });
}

let modules: typeof World;
let world: World.ToyWorld;
let space: { guid: string };

beforeAll(async () => {
  addToLists();
  modules = await import("./world.ts");
  world = await modules.startToyWorld();
  const { bench } = world;
  const org = await bench.org("org");
  space = await bench.space(org, "space");
  for (const [user, type] of [
    ["ann", "space_developer"],
    ["bob", "space_auditor"],
  ] as const) {
    await bench.make("/v3/roles", {
      type: "organization_user",
      relationships: { user: to(user), organization: to(org) },
    });
    await bench.make("/v3/roles", { type, relationships: { user: to(user), space: to(space) } });
  }
});
afterAll(async () => {
  await world.stop();
  for (const path of Object.values(LISTS)) vi.doUnmock(path);
  vi.resetModules();
});

const to = (object: { guid: string } | string) => ({
  data: { guid: typeof object === "string" ? object : object.guid },
});
const call = (person: TestUser, method: string, path: string, body?: unknown): Promise<Answer> =>
  world.replica.call(person, method, path, body);
const make = (person: TestUser, name: string): Promise<Answer> =>
  call(person, "POST", "/v3/widgets", { name, size: 3, relationships: { space: to(space) } });
const findWidget = async (name: string) =>
  (await world.bench.testEnv.kube.list(modules.Widget)).items.find(({ spec }) => spec.name === name);
const typesOf = async (guid: string): Promise<string[]> =>
  (await call("admin", "GET", `/v3/audit_events?target_guids=${guid}`)).json.resources.map(
    ({ type }: { type: string }) => type,
  );

test("a developer creates, lists and deletes it; the job and the events have its name", async () => {
  const made = await make("ann", "one");
  expect(made.status, made.text).toBe(201);
  expect((await call("bob", "GET", "/v3/widgets")).json.resources).toEqual([made.json]);
  const removed = await call("ann", "DELETE", `/v3/widgets/${made.json.guid}`);
  expect(removed.status).toBe(202);
  const job = await world.bench.job(removed);
  expect([job.operation, job.state]).toEqual(["widget.delete", "COMPLETE"]);
  expect((await call("ann", "GET", "/v3/widgets")).json.resources).toEqual([]);
  await eventually(async () =>
    expect(await typesOf(made.json.guid)).toEqual(["audit.widget.create", "audit.widget.delete"]),
  );
});

test("an auditor may read it only, by the API and by kubectl", async () => {
  const made = await make("ann", "two");
  expect((await make("bob", "three")).status).toBe(403);
  expect((await call("bob", "DELETE", `/v3/widgets/${made.json.guid}`)).status).toBe(403);
  const { metadata } = (await findWidget("two")) ?? { metadata: { name: "" } };
  const body = { type: "merge", body: { spec: { size: 4 } } } as const;
  await expect(world.bench.testEnv.as("bob").patch(modules.Widget, metadata, body)).rejects.toThrow(/forbidden/i);
  expect((await world.bench.testEnv.as("ann").patch(modules.Widget, metadata, body)).spec.size).toBe(4);
});

test("its controller reconciles it", async () => {
  await make("ann", "four");
  await eventually(async () => expect((await findWidget("four"))?.status?.doubled).toBe(6));
});

test("a write by kubectl is an audit event", async () => {
  const made = await make("ann", "five");
  const { metadata } = (await findWidget("five")) ?? { metadata: { name: "" } };
  const kubectl = { fieldManager: "kubectl-edit" };
  await world.bench.testEnv
    .as("ann")
    .patch(modules.Widget, metadata, { type: "merge", body: { spec: { size: 9 } } }, kubectl);
  await eventually(async () => expect(await typesOf(made.json.guid)).toContain("audit.widget.update"));
});

test("the platform watches it in spaces only, and the roles name it", () => {
  const canHold = (place: NamespaceKind) =>
    modules.PLATFORM_NAMESPACES.canHold?.(modules.Widget, { [LABELS.namespaceKind]: place }, "some");
  expect([canHold("space"), canHold("org"), canHold("system")]).toEqual([true, false, false]);
  const named = modules.listClusterRoles().filter((role) => JSON.stringify(role).includes('"widgets"'));
  expect(named.map(({ metadata }) => metadata.name)).toContain("cupola-space-developer");
});

test("its page is generated", () => {
  const page = modules.renewPage(modules.Widget, undefined);
  expect(page).toContain("# Widget\n\nA thing with a size.");
  expect(page).toContain("| `size` | integer | `1` | Size, in units. |");
  expect(page).toContain("| widgets | create, update, patch, delete | cupola-space-developer |");
});

test("it is deleted with its space, before the namespace", async () => {
  const { kube } = world.bench.testEnv;
  await make("ann", "last");
  const { metadata } = (await findWidget("last")) ?? { metadata: { name: "" } };
  const hold = (finalizers: string[]) =>
    kube.patch(modules.Widget, metadata, { type: "merge", body: { metadata: { finalizers } } });
  await hold(["test.example/held"]);
  const deletion = await world.bench.call("DELETE", `/v3/spaces/${space.guid}`);
  await eventually(async () => {
    const [found] = (await kube.list(modules.Space)).items;
    expect(found?.status?.conditions?.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/waiting until namespace .* is empty: \d+ widgets/),
    );
  });
  await hold([]);
  const job = await world.bench.job(deletion);
  expect([job.operation, job.state]).toEqual(["space.delete", "COMPLETE"]);
  expect((await kube.list(modules.Widget)).items).toEqual([]);
});
