// A Work's object is made for the platform that the agent serves, and removed only where the Work says so.
import { expect, test } from "vitest";
import { LRP } from "../../crds/lrp/lrp.ts";
import { LABELS } from "../../crds/labels.ts";
import { toWork } from "../../crds/work/remote-object.ts";
import type { Work } from "../../crds/work/work.ts";
import { Namespace, Secret } from "../../kube/api/builtin.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { findRemoved, requireManifest } from "./plan.ts";

function work(ref: ResourceRef, spec: Partial<Work["spec"]> = {}): Work {
  const metadata = { name: "shop", ...(ref.namespaced && { namespace: "dev" }), labels: { [LABELS.hub]: "hub-1" } };
  const made = toWork("west", ref, { metadata }) as Work;
  return { ...made, spec: { ...made.spec, remove: false, ...spec } };
}

test("a Work of another platform, and one of a kind that no Work holds, make nothing", () => {
  expect(requireManifest(work(LRP), "hub-1")).toMatchObject({ kind: "LRP", metadata: { name: "shop" } });
  expect(() => requireManifest(work(LRP), "hub-2")).toThrow("holds no object of the platform");
  expect(() => requireManifest(work(LRP), undefined)).toThrow("holds no object of the platform");
  expect(() => requireManifest(work(Secret), "hub-1")).toThrow("holds no object of the platform");
  expect(() => requireManifest(work(LRP, { manifest: { metadata: { name: "x" } } }), "hub-1")).toThrow(
    "holds no object",
  );
});

test("only a Work that says so removes its object, and none removes a namespace", () => {
  expect(findRemoved(work(LRP))).toBeUndefined();
  expect(findRemoved(work(LRP, { remove: true }))).toBe(LRP);
  expect(findRemoved(work(Namespace, { remove: true }))).toBeUndefined();
});
