// The LRP of a detached process, and the Secrets that its workload needs after the app.
import { expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { aProcess, lrpSpec, makeObject } from "../../crds/testing/objects.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { listDetached, secretsOf } from "./detached.ts";

test("a process finds its released LRP, also one that a rollout gave a process GUID of its own", () => {
  const make = (name: string, spec: object, process: string): LRP => {
    const labels = { [LABELS.app]: "uid-shop", [LABELS.process]: process };
    return { ...makeObject(LRP, name, { spec: lrpSpec(spec) }), metadata: { name, namespace: "acme-dev", labels } };
  };
  const all = [
    make("released", { detached: true, processType: "web" }, "of-a-rollout"),
    make("worker", { detached: true, processType: "worker" }, "worker"),
    make("owned", { processType: "web" }, "uid-shop"),
  ];
  const read = {
    list: (_ref: unknown, { labels = {} }: { labels?: Record<string, string> }) =>
      all.filter((lrp) => Object.entries(labels).every(([key, value]) => lrp.metadata.labels?.[key] === value)),
  } as unknown as Reader;
  const found = listDetached(read, aProcess({ type: "web" }), "uid-shop");
  expect(found.map(({ metadata }) => metadata.name)).toEqual(["released"]);
});

test("Secrets of variables, of files, and of the credential by which nodes pull the image", () => {
  const secretKeyRef = { name: "shop-env-0", key: "A" };
  const droplet = { guid: "g", kind: "docker", image: "example.com/x:1", imagePullSecretRef: { name: "shop-pull" } };
  const lrp = makeObject(LRP, "shop-web", {
    spec: lrpSpec({
      env: [
        { name: "A", valueFrom: { secretKeyRef } },
        { name: "B", valueFrom: { secretKeyRef } },
      ],
      serviceFiles: { mountPath: "/etc/f", secretRef: { name: "shop-env-1" }, items: [{ key: "k", path: "a/b" }] },
      droplet,
    }),
  });
  expect(secretsOf(lrp)).toEqual(["shop-env-0", "shop-env-1", "shop-pull"]);
});
