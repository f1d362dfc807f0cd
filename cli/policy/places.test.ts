// The org and space of an object in a file.
import { expect, test } from "vitest";
import { findDefinition } from "../../crds/definitions.ts";
import { toNamespaceLabels } from "../../crds/space/namespace-labels.ts";
import { placeObject, placesOfSpace, toPlaces, type Places } from "./places.ts";

const labels = toNamespaceLabels({
  org: { name: "acme", labels: { tier: "gold", "example.com/unit": "7" } },
  space: { name: "dev", labels: { env: "test" } },
});
const inCluster: Places = {
  ...placesOfSpace({ namespace: "acme-dev", labels }),
  byNamespace: new Map([["beta-x", { "cupola.dev/org": "beta" }]]),
};
const byName = toPlaces({ org: "acme", space: "dev" });

/** Namespace and org of an object, or "unknown". */
function whereIs(places: Places, kind: string, namespace?: string): unknown {
  const definition = findDefinition(kind);
  if (!definition) throw new Error(`no kind ${kind}`);
  const metadata = { name: "shop", ...(namespace !== undefined && { namespace }) };
  const { object, namespaceLabels, isPlaceKnown } = placeObject({ apiVersion: "", kind, metadata }, definition, places);
  return isPlaceKnown ? [object.metadata.namespace, namespaceLabels?.["cupola.dev/org"]] : "unknown";
}

test("in a cluster, objects are in their namespace, else in the targeted space", () => {
  expect(whereIs(inCluster, "App")).toEqual(["acme-dev", "acme"]);
  expect(whereIs(inCluster, "App", "beta-x")).toEqual(["beta-x", "beta"]);
  expect(whereIs(inCluster, "Domain", "cupola-system")).toEqual(["cupola-system", undefined]);
});

test("a namespace that the user may not read is unknown", () => {
  expect(whereIs(inCluster, "App", "secret-x")).toBe("unknown");
});

test("by name, all objects are in that org and space", () => {
  expect(whereIs(byName, "App", "any-namespace")).toEqual(["any-namespace", "acme"]);
  expect(whereIs(byName, "Space")).toEqual(["acme", "acme"]);
});

test("without a name, only objects outside of orgs have a known place", () => {
  expect(whereIs({}, "App")).toBe("unknown");
  expect(whereIs({}, "Org")).toEqual([undefined, undefined]);
  expect(whereIs({}, "Stack")).toEqual(["cupola-system", undefined]);
});

test("an org's labels are a part of those of its spaces' namespaces", () => {
  expect(placesOfSpace({ namespace: "acme-dev", labels }).org?.labels).toEqual(
    toNamespaceLabels({ org: { name: "acme", labels: { tier: "gold", "example.com/unit": "7" } } }),
  );
});

test.each([
  [{ space: "dev" }, "the org is missing"],
  [{ org: "acme", spaceLabel: ["a=b"] }, "the space is missing"],
  [{ org: "acme", orgLabel: ["a"] }, "--org-label a: write key=value"],
])("%j is refused", (options, message) => {
  expect(() => toPlaces(options)).toThrow(message);
});

test("a CF name stands for the object name that follows from it", () => {
  expect(toPlaces({ org: "Acme Inc" }).org?.namespace).toMatch(/^acme-inc-\w{5}$/);
});
