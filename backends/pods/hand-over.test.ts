// A hand-over: the marks that go, and the instances that are shown afterwards.
import { expect, test } from "vitest";
import { LRP } from "../../crds/lrp/lrp.ts";
import { lrpSpec, makeObject } from "../../crds/testing/objects.ts";
import { withLiveInstances, withoutMarks } from "./hand-over.ts";
import type { PodObject } from "./slim-pod.ts";

test("the marks of the platform go, those of others and the labels of the contract stay", () => {
  const manager = (name: string): object => ({ manager: name, operation: "Apply", fieldsV1: {} });
  const metadata = {
    name: "shop",
    resourceVersion: "7",
    labels: { "cupola.dev/app-guid": "a", "cupola.dev/owner-uid": "u", "cupola.dev/managed-by": "deployment-runner" },
    ownerReferences: [
      { apiVersion: "x/v1", kind: "LRP", name: "shop", uid: "u" },
      { apiVersion: "y/v1", kind: "Other", name: "o", uid: "o" },
    ],
    managedFields: [manager("ours"), manager("kube-controller-manager")],
  };
  expect(withoutMarks({ apiVersion: "apps/v1", kind: "Deployment", metadata }, "u", "ours")).toEqual({
    resourceVersion: "7",
    labels: { "cupola.dev/owner-uid": null, "cupola.dev/managed-by": null },
    annotations: { "cupola.dev/owner": null },
    ownerReferences: [{ apiVersion: "y/v1", kind: "Other", name: "o", uid: "o" }],
    managedFields: [manager("kube-controller-manager")],
  });
});

test("the instances are those of the pods, whatever the LRP asked for", () => {
  const pod = (index: number, phase = "Running"): PodObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `p${index}`, labels: { index: String(index) } },
    status: { phase },
  });
  const lrp = makeObject(LRP, "shop", { spec: lrpSpec({ instances: 1, restartInstances: { "0": "x" } }) });
  const shown = withLiveInstances(lrp, [pod(0), pod(2), pod(3), pod(5, "Failed")], ({ metadata }) =>
    Number(metadata.labels?.["index"]),
  );
  expect(shown.spec).toMatchObject({
    instances: 3,
    indexes: [
      { start: 0, end: 0 },
      { start: 2, end: 3 },
    ],
  });
  expect(shown.spec.restartInstances).toBeUndefined();
});
