// A Staging and a builder image for this class's tests.
import { Staging } from "../../../../crds/staging/staging.ts";
import type { BuilderImage } from "../builder-image.ts";

export const guid = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`;
export const digest = (digit: number): string => `sha256:${String(digit).repeat(64)}`;

const LABELS = {
  "cupola.dev/guid": guid(5),
  "cupola.dev/app-guid": guid(1),
  "cupola.dev/space-guid": guid(2),
  "cupola.dev/org-guid": guid(3),
  "cupola.dev/source-type": "STG",
  "cupola.dev/managed-by": "build",
};

/** `change` are fields of the spec, `more` top-level fields. */
export function staging(change: object = {}, more: { name?: string; status?: object; created?: string } = {}): Staging {
  const { name = "shop-1", status, created = "2026-11-22T08:00:00Z" } = more;
  const spec: unknown = Staging.spec.parse({
    class: "cnb",
    app: { guid: guid(1), name: "My Shop" },
    space: { guid: guid(2), name: "dev" },
    org: { guid: guid(3), name: "Acme Inc." },
    buildGUID: guid(4),
    lifecycleType: "buildpack",
    package: { type: "bits", content: { digest: digest(1), size: 7 } },
    buildpacks: [],
    detect: true,
    env: [
      { name: "PRICE", value: "$(HOME) $5" },
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shop-env-0123456789abcdef", key: "PASSWORD" } } },
    ],
    memoryMB: 1024,
    diskMB: 4096,
    ...change,
  });
  return {
    apiVersion: "workloads.cupola.dev/v1alpha1",
    kind: "Staging",
    metadata: {
      name,
      namespace: "acme-dev",
      uid: `uid-${name}`,
      creationTimestamp: created,
      labels: LABELS,
      annotations: { "cupola.dev/app-name": "My Shop", "cupola.dev/owner": "acme-dev/shop-1" },
    },
    spec: spec as Staging["spec"],
    ...(status && { status: status as NonNullable<Staging["status"]> }),
  };
}

export const builder: BuilderImage = {
  uid: 1001,
  gid: 1000,
  platformAPI: "0.14",
  runImage: "registry.example.com/run:1",
  stack: "cupola",
  buildpacks: new Map([
    ["cupola/nodejs", ["0.1.0", "0.10.0", "0.9.0"]],
    ["cupola/procfile", ["0.1.0"]],
    ["other/procfile", ["2.0.0"]],
    ["cupola/static", ["1.0.0"]],
  ]),
  order: [
    [
      { id: "cupola/nodejs", version: "0.10.0" },
      { id: "cupola/procfile", version: "0.1.0", optional: true },
    ],
    [
      { id: "cupola/static", version: "1.0.0" },
      { id: "cupola/procfile", version: "0.1.0", optional: true },
    ],
    [{ id: "cupola/procfile", version: "0.1.0" }],
  ],
};
