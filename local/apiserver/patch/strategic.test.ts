// Strategic merge patch, by the keys that published schemas name.
import { expect, test } from "vitest";
import { builtinView } from "../builtin/schemas.ts";
import { strategicMerge } from "./strategic.ts";

const deployment = builtinView("io.k8s.api.apps.v1.Deployment");
const service = builtinView("io.k8s.api.core.v1.Service");
const pods = (containers: unknown[]) => ({ spec: { template: { spec: { containers } } } });

test.each([
  [
    "a container is merged by its name",
    pods([
      { name: "a", image: "1" },
      { name: "b", image: "2" },
    ]),
    pods([{ name: "b", image: "3" }]),
    pods([
      { name: "a", image: "1" },
      { name: "b", image: "3" },
    ]),
  ],
  [
    "$patch: delete removes an item",
    pods([{ name: "a" }, { name: "b" }]),
    pods([{ name: "a", $patch: "delete" }]),
    pods([{ name: "b" }]),
  ],
  [
    "$patch: replace replaces the list",
    pods([{ name: "a" }]),
    pods([{ name: "c" }, { $patch: "replace" }]),
    pods([{ name: "c" }]),
  ],
  [
    "null removes a field",
    { metadata: { labels: { a: "1", b: "2" } } },
    { metadata: { labels: { a: null } } },
    { metadata: { labels: { b: "2" } } },
  ],
  [
    "a plain list is replaced",
    pods([{ name: "a", args: ["x", "y"] }]),
    pods([{ name: "a", args: ["z"] }]),
    pods([{ name: "a", args: ["z"] }]),
  ],
  [
    "$setElementOrder orders",
    pods([{ name: "a" }, { name: "b" }]),
    { spec: { template: { spec: { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] } } } },
    pods([{ name: "b" }, { name: "a" }]),
  ],
  [
    "$deleteFromPrimitiveList removes",
    { metadata: { finalizers: ["a/b", "c/d"] } },
    { metadata: { "$deleteFromPrimitiveList/finalizers": ["a/b"] } },
    { metadata: { finalizers: ["c/d"] } },
  ],
  [
    "$retainKeys drops the others",
    { spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } } },
    { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } },
    { spec: { strategy: { type: "Recreate" } } },
  ],
])("%s", (_rule, target, patch, expected) => {
  const before = structuredClone(target);
  expect(strategicMerge(deployment, target, patch)).toEqual(expected);
  expect(target).toEqual(before);
});

test("Service ports are merged by port alone", () => {
  expect(
    strategicMerge(
      service,
      { spec: { ports: [{ port: 80, protocol: "TCP" }] } },
      { spec: { ports: [{ port: 80, name: "x" }] } },
    ),
  ).toEqual({ spec: { ports: [{ port: 80, protocol: "TCP", name: "x" }] } });
});

test("an item without its merge key is refused", () => {
  expect(() => strategicMerge(deployment, pods([]), pods([{ image: "x" }]))).toThrow(
    "does not contain declared merge key: name",
  );
});

test("also beside $patch: replace an item needs its merge key", () => {
  expect(() =>
    strategicMerge(deployment, pods([{ name: "a" }]), pods([{ image: "x" }, { $patch: "replace" }])),
  ).toThrow("does not contain declared merge key: name");
});

test("what is to be deleted from a list that is not there is no item of it", () => {
  const patch = {
    spec: {
      template: { spec: { "$setElementOrder/volumes": [{ name: "v" }], volumes: [{ name: "v", $patch: "delete" }] } },
    },
  };
  expect(strategicMerge(deployment, { spec: { template: { spec: {} } } }, patch)).toEqual({
    spec: { template: { spec: { volumes: [] } } },
  });
});

test("a list of different things says what both sides are", () => {
  expect(() => strategicMerge(service, { spec: { ports: [{ port: 80 }] } }, { spec: { ports: [null] } })).toThrow(
    "list element types are not identical: [[map[port:80]] [<nil>]]",
  );
});
