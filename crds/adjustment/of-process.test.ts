// The patch that an LRP carries: whoever wrote it, only fields that can be adjusted reach a pod.
import { expect, test } from "vitest";
import { parsePatch } from "./of-process.ts";

test("what can be adjusted is kept", () => {
  const patch = { metadata: { labels: { team: "shop" } }, spec: { tolerations: [{ key: "gpu" }] } };
  expect(parsePatch(JSON.stringify(patch))).toEqual(patch);
});

test("of a patch that a stolen hub wrote nothing else is left", () => {
  const container = { name: "application", image: "evil", envFrom: [{ secretRef: { name: "database" } }] };
  const patch = {
    metadata: { labels: { "cupola.dev/lrp": "x" }, ownerReferences: [{ name: "x" }] },
    spec: {
      volumes: [{ name: "v", secret: { secretName: "cupola-registry" } }],
      initContainers: [{ name: "evil", image: "evil" }],
      serviceAccountName: "admin",
      priorityClassName: "batch",
      containers: [{ ...container, resources: { limits: { cpu: "1", memory: "64Gi" } } }],
    },
  };
  expect(parsePatch(JSON.stringify(patch))).toEqual({
    spec: { priorityClassName: "batch", containers: [{ name: "application", resources: { limits: { cpu: "1" } } }] },
  });
});

test.each(["no JSON", "null", "[]", '"x"'])("%s changes nothing", (text) => expect(parsePatch(text)).toEqual({}));

test("the patches of several adjustments are longer than one may be", () => {
  const annotations = Object.fromEntries([0, 1, 2, 3, 4].map((at) => [`note-${at}`, "x".repeat(4000)]));
  expect(parsePatch(JSON.stringify({ metadata: { annotations } }))).toEqual({ metadata: { annotations } });
});
