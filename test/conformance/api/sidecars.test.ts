// Sidecars: of an app, of its processes, in manifests and revisions, and their share of the memory.
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { type ApiHarness, fault, startApiHarness, to } from "./harness.ts";
import { shapeProblems } from "./response-shape.ts";

let bench: ApiHarness;
let space: { guid: string };
let app: { guid: string };
let droplet: { guid: string };
const of = (rest = ""): string => `/v3/apps/${app.guid}${rest}`;
beforeAll(async () => {
  bench = await startApiHarness();
  const org = await bench.org("org");
  space = await bench.space(org, "space");
  app = await bench.app(space, "app");
  const agent = { name: "agent", command: "run agent", processTypes: ["worker"] };
  droplet = await bench.droplet(app, "d", { sidecars: [agent] });
  await bench.call("PATCH", of("/relationships/current_droplet"), to(droplet));
});
afterAll(() => bench.testEnv.stop());

test("one is created, read, changed and deleted; its GUID stays when it is renamed", async () => {
  const made = await bench.make(of("/sidecars"), {
    name: "proxy",
    command: "envoy",
    process_types: ["web", "worker"],
    memory_in_mb: 64,
  });
  expect(shapeProblems("sidecar", made)).toEqual([]);
  expect(made).toMatchObject({
    name: "proxy",
    command: "envoy",
    process_types: ["web", "worker"],
    memory_in_mb: 64,
    origin: "user",
    relationships: { app: to(app) },
  });
  const path = `/v3/sidecars/${made.guid}`;
  expect(await bench.read(path)).toEqual(made);
  const changed = await bench.call("PATCH", path, { name: "gate", memory_in_mb: null });
  expect([changed.status, changed.json]).toMatchObject([
    200,
    { guid: made.guid, name: "gate", command: "envoy", memory_in_mb: null },
  ]);
  expect((await bench.call("DELETE", path)).status).toBe(204);
  expect(fault(await bench.call("GET", path))).toEqual([404, "CF-ResourceNotFound", "Sidecar not found"]);
});

test("lists of the app and of each process, those of buildpacks included", async () => {
  const { guid } = await bench.make(of("/sidecars"), { name: "web only", command: "x", process_types: ["web"] });
  expect((await bench.column(of("/sidecars"), "name")).sort()).toEqual(["agent", "web only"]);
  expect(await bench.column(of("/processes/web/sidecars"), "name")).toEqual(["web only"]);
  expect(await bench.column(`/v3/processes/${app.guid}/sidecars`, "guid")).toEqual([guid]);
  const [worker] = (await bench.read(of("/processes/worker/sidecars"))).resources;
  expect(worker).toMatchObject({ name: "agent", origin: "buildpack" });
  expect(await bench.read(`/v3/sidecars/${worker.guid}`)).toEqual(worker);
  expect(await bench.column(of(`/sidecars?guids=${guid}`), "guid")).toEqual([guid]);
  await bench.call("DELETE", `/v3/sidecars/${guid}`);
});

test.each<[object, string]>([
  [{ command: "x", process_types: ["web"] }, "Name can't be blank, Name must be a string"],
  [{ name: "a", command: "x", process_types: [] }, "Process types must have at least 1 process_type"],
  [{ name: "a", command: "x", process_types: ["web"], memory_in_mb: 0 }, "Memory in mb must be greater than 0"],
  [{ name: "agent", command: "x", process_types: ["web"] }, "Sidecar with name 'agent' already exists for given app"],
  [
    { name: "a", command: "x", process_types: ["web"], memory_in_mb: 1024 },
    'The memory allocation defined is too large to run with the dependent "web" process',
  ],
])("refused: %j", async (body, detail) =>
  expect(fault(await bench.call("POST", of("/sidecars"), body))).toEqual([422, "CF-UnprocessableEntity", detail]),
);

test("a manifest adds and changes sidecars, and the generated one has them; a scale keeps their memory", async () => {
  const manifest = (command: string): string =>
    `applications: [{name: app, sidecars: [{name: proxy, command: ${command}, process_types: [web], memory: 100M}]}]`;
  for (const command of ["one", "two"])
    expect(await bench.job(await bench.manifest(space as never, manifest(command)))).toMatchObject({
      state: "COMPLETE",
    });
  const [proxy] = (await bench.read(of("/processes/web/sidecars"))).resources;
  expect(proxy).toMatchObject({ name: "proxy", command: "two", memory_in_mb: 100 });
  expect((await bench.call("GET", of("/manifest"))).text).toContain(
    "  - name: proxy\n        process_types:\n          - web\n        command: two\n        memory: 100M".replace(
      "  - name",
      "- name",
    ),
  );
  expect((await bench.manifest(space as never, manifest("two"), "manifest_diff")).json).toEqual({ diff: [] });
  expect(fault(await bench.call("POST", of("/processes/web/actions/scale"), { memory_in_mb: 100 }))).toEqual([
    422,
    "CF-UnprocessableEntity",
    "The requested memory allocation is not large enough to run all of your sidecar processes",
  ]);
});

test("a start snapshots them: in the revision, and in the LRP of each process with the rest of the memory", async () => {
  await bench.call("POST", of("/actions/start"));
  const { kube } = bench.testEnv;
  const lrp = await vi.waitFor(
    async () => {
      const found = (await kube.list(LRP)).items.find(({ spec }) => spec.app.guid === app.guid);
      if (!found) throw new Error("no LRP");
      return found;
    },
    { timeout: 5000, interval: 20 },
  );
  expect(lrp.spec.sidecars).toEqual([{ name: "proxy", command: "two", memoryMB: 100 }]);
  expect(lrp.spec.env.find(({ name }) => name === "MEMORY_LIMIT")?.value).toBe("924m");
  const [revision] = (await bench.read(of("/revisions"))).resources;
  expect(revision.sidecars).toEqual([
    { name: "agent", command: "run agent", process_types: ["worker"], memory_in_mb: null },
    { name: "proxy", command: "two", process_types: ["web"], memory_in_mb: 100 },
  ]);
});
