// The Buildpack objects of a builder image.
import { expect, test } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { makeObject } from "../../../crds/testing/objects.ts";
import { builder, digest } from "./testing/fixtures.ts";
import { planImageBuildpacks } from "./image-buildpacks.ts";

const owner = makeObject(BackendClass, "cnb", { spec: { role: "builder" } });
const NAMES = ["cupola-nodejs", "cupola-static", "cupola-procfile"];
const made = (id: string, change: object = {}, status?: object) =>
  makeObject(Buildpack, planned(id)?.metadata?.name ?? id.replace("/", "-"), {
    spec: { name: id, path: id, builder: "cnb", position: 1, ...change },
    ...(status && { status }),
  });
const planned = (id: string) =>
  planImageBuildpacks(owner, builder, []).create.find((draft) => (draft["spec"] as { path: string }).path === id);

test("each buildpack of the order is made once, by the groups that they lead, behind those that are there", () => {
  const own = makeObject(Buildpack, "mine", { spec: { name: "mine", position: 4 } });
  const { create, remove, identify } = planImageBuildpacks(owner, builder, [own]);
  expect(create.map((draft) => draft["spec"])).toEqual([
    { name: "cupola/nodejs", path: "cupola/nodejs", position: 5, builder: "cnb" },
    { name: "cupola/static", path: "cupola/static", position: 6, builder: "cnb" },
    { name: "cupola/procfile", path: "cupola/procfile", position: 7, builder: "cnb" },
  ]);
  expect(create.map(({ metadata }) => metadata?.name?.replace(/-[^-]{5}$/, ""))).toEqual(NAMES);
  expect(create[0]?.metadata?.ownerReferences).toMatchObject([{ kind: "BackendClass", name: "cnb" }]);
  expect([remove, identify]).toEqual([[], []]);
});

test("an optional buildpack that also leads a group stands where it leads, and one that leads none is last", () => {
  const entry = (id: string, optional = false) => ({ id, version: "1.0.0", ...(optional && { optional }) });
  const order = [
    [entry("script")],
    [entry("java"), entry("ca", true), entry("procfile", true)],
    [entry("go"), entry("procfile", true)],
    [entry("procfile")],
  ];
  const { create } = planImageBuildpacks(owner, { order, buildpacks: new Map() }, []);
  expect(create.map((draft) => (draft["spec"] as { path: string }).path)).toEqual([
    "script",
    "java",
    "go",
    "procfile",
    "ca",
  ]);
});

test("an image that states no order removes none: what an admin changed is still there when the order is back", () => {
  const off = made("cupola/nodejs", { enabled: false, position: 9 });
  expect(planImageBuildpacks(owner, { ...builder, order: [] }, [off])).toEqual({
    create: [],
    remove: [],
    identify: [],
  });
});

test("what an admin changed stays; the status says the image's version; what left the image goes", () => {
  const node = made("cupola/nodejs", { enabled: false, position: 9 });
  const procfile = made("cupola/procfile", { name: "proc" }, { id: "cupola/procfile", version: "0.1.0" });
  const gone = made("cupola/cobol");
  const uploaded = made("cupola/static", {
    path: undefined,
    builder: undefined,
    content: { digest: digest(1), size: 1 },
  });
  const plan = planImageBuildpacks(owner, builder, [node, procfile, gone, uploaded]);
  expect(plan.create).toEqual([]);
  expect(plan.remove).toEqual([gone]);
  expect(plan.identify).toEqual([{ buildpack: node, status: { id: "cupola/nodejs", version: "0.10.0" } }]);
});
