// The golden objects of the class: what an LRP becomes in a cluster, field by field.
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { LRP } from "../../../crds/lrp/lrp.ts";
import type { Draft, KubeClient } from "../../../kube/client/client.ts";
import type { FinalizeResult, ReconcileContext } from "../../../kube/controller/controller.ts";
import { literal } from "../../pods/environment.ts";
import { Deployment } from "../../../kube/api/builtin.ts";
import { endInstances, endWorkload } from "../../pods/end-workload.ts";
import { RENDERING } from "../../pods/pod-rules.ts";
import { deploymentRunner } from "./deployment.ts";
import { planLRP as plan } from "./plan.ts";

const guid = (digit: number): string => `0000000${digit}-0000-4000-8000-000000000000`;

function lrp(change: object = {}, labels: Record<string, string> = {}): LRP {
  const spec: unknown = LRP.spec.parse({
    class: "deployment",
    rendering: RENDERING,
    app: { guid: guid(1), name: "My Shop" },
    space: { guid: guid(2), name: "dev" },
    org: { guid: guid(3), name: "Acme Inc." },
    processGUID: guid(1),
    processType: "web",
    revision: "7",
    version: guid(4),
    droplet: {
      guid: guid(5),
      kind: "docker",
      image: "example.com/shop@sha256:0",
      imagePullSecretRef: { name: "pull" },
      processTypes: { web: "" },
    },
    env: [
      { name: "PRICE", value: "$(HOME) $5" },
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shop-env-0123456789abcdef", key: "PASSWORD" } } },
      { name: "VCAP_APPLICATION", value: "{}" },
      { name: "PORT", value: "1" },
    ],
    ports: [8080],
    instances: 2,
    memoryMB: 256,
    diskMB: 512,
    healthCheck: { type: "http", endpoint: "/health", timeoutSeconds: 90 },
    readinessHealthCheck: { type: "port", intervalSeconds: 5 },
    ...change,
  });
  return {
    apiVersion: "workloads.cupola.dev/v1alpha1",
    kind: "LRP",
    metadata: {
      name: "shop-web-0123456789",
      namespace: "acme-dev",
      uid: "u",
      labels: {
        "cupola.dev/guid": guid(4),
        "cupola.dev/app-guid": guid(1),
        "cupola.dev/process-guid": guid(1),
        "cupola.dev/process-type": "web",
        "cupola.dev/space-guid": guid(2),
        "cupola.dev/org-guid": guid(3),
        "cupola.dev/revision": "7",
        "cupola.dev/source-type": "APP",
        "cupola.dev/owner-uid": "p",
        "cupola.dev/managed-by": "process",
        ...labels,
      },
      annotations: {
        "cupola.dev/app-name": "My Shop",
        "cupola.dev/space-name": "dev",
        "cupola.dev/org-name": "Acme Inc.",
        "cupola.dev/owner": "acme-dev/shop.web",
      },
    },
    spec: spec as LRP["spec"],
  };
}

const planLRP = (of: LRP): Draft[] => plan(of) ?? [];
const yaml = (drafts: readonly object[]): string =>
  drafts.map((draft) => stringify(draft, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n");

interface Container {
  name: string;
  command?: string[];
  env: { name: string; value?: string }[];
  startupProbe?: object;
  livenessProbe?: object;
  ports?: unknown[];
  lifecycle?: object;
  resources: { requests: Record<string, string>; limits: Record<string, string> };
}

function containersOf(change: object): [Container, ...Container[]] {
  const [deployment] = planLRP(lrp(change));
  return (deployment as unknown as { spec: { template: { spec: { containers: [Container, ...Container[]] } } } }).spec
    .template.spec.containers;
}
const containerOf = (change: object): Container => containersOf(change)[0];

describe("an LRP in a cluster", () => {
  test("an image with two instances", async () => {
    await expect(yaml(planLRP(lrp()))).toMatchFileSnapshot("image.golden.yaml");
  });

  test("one instance gets no disruption budget", () => {
    expect(planLRP(lrp({ instances: 1 })).map((draft) => draft.kind)).toEqual(["Deployment"]);
  });

  test.each<[string, object, string[] | undefined]>([
    ["an image starts itself", {}, undefined],
    [
      "an image's command runs in a shell",
      { command: "exec run --at $(hostname)" },
      ["/bin/sh", "-c", "exec run --at $$(hostname)"],
    ],
    [
      "a cnb image starts its process type",
      { droplet: { guid: guid(5), kind: "cnb", image: "i", processTypes: { web: "x" } } },
      ["/cnb/process/web"],
    ],
    [
      "a cnb image's command goes through the launcher",
      { command: "run", droplet: { guid: guid(5), kind: "cnb", image: "i" } },
      ["/cnb/lifecycle/launcher", "run"],
    ],
  ])("%s", (_what, change, command) => expect(containerOf(change).command).toEqual(command));

  test("a check of type process needs no probe, and without ports nothing is probed or named", () => {
    const worker = containerOf({
      ports: [],
      healthCheck: { type: "process" },
      readinessHealthCheck: { type: "process" },
    });
    expect([worker.startupProbe, worker.livenessProbe, worker.ports]).toEqual([undefined, undefined, undefined]);
    expect(worker.env.filter((variable) => ["PORT", "CF_INSTANCE_PORTS"].includes(variable.name))).toEqual([
      { name: "CF_INSTANCE_PORTS", value: "[]" },
      { name: "PORT", value: "1" },
    ]);
  });

  test("cpu given is a limit too; else it follows memory", () => {
    expect(containerOf({ cpu: "500m" }).resources).toMatchObject({
      requests: { cpu: "500m" },
      limits: { cpu: "500m" },
    });
    expect(containerOf({ memoryMB: 16 }).resources).toMatchObject({ requests: { cpu: "5m", memory: "16Mi" } });
    expect(Object.keys(containerOf({}).resources.limits)).toEqual(["memory", "ephemeral-storage"]);
  });

  test("a sidecar has its process's variables, PORT included, its own memory, and no port or probe", () => {
    const [, sidecar] = containersOf({ sidecars: [{ name: "proxy", command: "./proxy", memoryMB: 64 }] });
    expect(sidecar).toMatchObject({ name: "proxy", command: ["/bin/sh", "-c", "./proxy"] });
    expect(sidecar?.env).toContainEqual({ name: "PORT", value: "8080" });
    expect(sidecar?.env).toContainEqual({ name: "PRICE", value: literal("$(HOME) $5") });
    expect(sidecar?.resources.limits["memory"]).toBe("64Mi");
    expect([sidecar?.ports, sidecar?.startupProbe, sidecar?.livenessProbe]).toEqual([undefined, undefined, undefined]);
  });

  test("a sidecar serves on as long as its app, and in rendering 1 ends at once as before", () => {
    const lifecyclesOf = (change: object): unknown[] =>
      containersOf({ sidecars: [{ name: "proxy", command: "./proxy" }], ...change }).map(({ lifecycle }) => lifecycle);
    const sleep = (seconds: number): object => ({ preStop: { sleep: { seconds } } });
    expect(lifecyclesOf({})).toEqual([sleep(5), sleep(5)]);
    expect(lifecyclesOf({ rendering: "1" })).toEqual([sleep(2), undefined]);
    expect(lifecyclesOf({ ports: [] })).toEqual([undefined, undefined]);
  });

  test("files of bound services are a volume that each container finds", () => {
    const serviceFiles = {
      mountPath: "/etc/cf-service-bindings",
      secretRef: { name: "shop-env-1" },
      items: [{ key: "f0", path: "db/uri" }],
    };
    const change = { serviceFiles, sidecars: [{ name: "proxy", command: "./proxy" }] };
    const [deployment] = planLRP(lrp(change));
    expect(deployment).toMatchObject({
      spec: {
        template: {
          spec: {
            volumes: [
              { name: "service-files", secret: { secretName: "shop-env-1", items: [{ key: "f0", path: "db/uri" }] } },
            ],
          },
        },
      },
    });
    const mount = { name: "service-files", mountPath: "/etc/cf-service-bindings", readOnly: true };
    expect(containersOf(change)).toMatchObject([{ volumeMounts: [mount] }, { volumeMounts: [mount] }]);
  });

  test("claims of bound services are volumes, read-only where that is asked for", () => {
    const volumes = [
      { claimName: "models", mountPath: "/data/models", readOnly: true },
      { claimName: "models", mountPath: "/data/write", readOnly: false },
    ];
    expect(planLRP(lrp({ volumes }))[0]).toMatchObject({
      spec: {
        template: {
          spec: {
            volumes: [
              { name: "claim-0", persistentVolumeClaim: { claimName: "models", readOnly: true } },
              { name: "claim-1", persistentVolumeClaim: { claimName: "models", readOnly: false } },
            ],
          },
        },
      },
    });
    expect(containerOf({ volumes })).toMatchObject({
      volumeMounts: [
        { name: "claim-0", mountPath: "/data/models", readOnly: true },
        { name: "claim-1", mountPath: "/data/write", readOnly: false },
      ],
    });
  });

  test("no variable twice", () => {
    const names = containerOf({}).env.map((variable) => variable.name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("an LRP under deletion", () => {
  const deployment = (metadata: object): object => ({
    metadata: { name: "d", namespace: "acme-dev", uid: "d", ...metadata },
  });
  const ownerReferences = [{ uid: "u" }];

  async function end(live: object | undefined): Promise<{ released: boolean; deletions: unknown[] }> {
    const deletions: unknown[] = [];
    const client = {
      find: () => Promise.resolve(live),
      delete: (_ref: unknown, _key: unknown, options: object) => Promise.resolve(deletions.push(options)),
    } as unknown as KubeClient;
    const waiting = await endWorkload(Deployment, lrp(), { client } as ReconcileContext);
    if (waiting) expect(waiting).toEqual({ ready: expect.objectContaining({ reason: "Stopping" }) as unknown });
    return { released: !waiting, deletions };
  }

  test("has its Deployment deleted after its pods, and waits for that", async () =>
    expect(await end(deployment({ ownerReferences }))).toEqual({
      released: false,
      deletions: [{ propagationPolicy: "Foreground", preconditions: { uid: "d" } }],
    }));
  test("waits while its pods end", async () =>
    expect(await end(deployment({ ownerReferences, deletionTimestamp: "2026-01-01T00:00:00Z" }))).toEqual({
      released: false,
      deletions: [],
    }));
  test.each([
    ["its Deployment is gone", undefined],
    ["the Deployment is another LRP's", deployment({ ownerReferences: [{ uid: "v" }] })],
  ])("is released when %s", async (_when, live) => expect(await end(live)).toEqual({ released: true, deletions: [] }));
});

describe("the version of the renderer", () => {
  /** Objects that this release renders for an LRP of that version. */
  async function children(rendering: string): Promise<unknown> {
    const [controller] = deploymentRunner();
    const read = { list: () => [], find: () => undefined };
    const context = { read, now: () => new Date(0) } as unknown as ReconcileContext;
    return (await controller?.reconcile(lrp({ rendering }), context))?.children;
  }
  test("stays that of the LRP: a newer release changes nothing that runs", async () => {
    await expect(yaml((await children("1")) as Draft[])).toMatchFileSnapshot("image-1.golden.yaml");
    await expect(yaml((await children("2")) as Draft[])).toMatchFileSnapshot("image-2.golden.yaml");
    await expect(yaml((await children("3")) as Draft[])).toMatchFileSnapshot("image.golden.yaml");
  });
  test.each(["4", "constructor"])("%s, that this release does not have, is refused", (rendering) =>
    expect(children(rendering)).rejects.toThrow(`renders versions 1, 2, 3, not ${rendering}; restart the app`),
  );
});

describe("an LRP under deletion whose pods should have ended", () => {
  const ending = {
    metadata: { name: "d", uid: "d", ownerReferences: [{ uid: "u" }], deletionTimestamp: "2026-01-01T00:00:00Z" },
  };
  const pod = (deletionTimestamp?: string): object => ({ metadata: { name: "p", deletionTimestamp } });
  const end = (pods: object[]): Promise<FinalizeResult> =>
    endInstances(Deployment, lrp(), {
      client: { find: () => Promise.resolve(ending) },
      read: { list: () => pods },
      now: () => new Date("2026-01-01T00:01:00Z"),
    } as unknown as ReconcileContext);
  const lost = pod("2026-01-01T00:00:30Z");

  test("half a minute ago does not wait for their lost node", async () => expect(await end([lost])).toBeUndefined());
  test.each<[string, object[]]>([
    ["a moment ago", [lost, pod("2026-01-01T00:00:31Z")]],
    ["but were not deleted yet", [lost, pod()]],
    ["and of which none is left", []],
  ])("%s waits", async (_when, pods) =>
    expect(await end(pods)).toMatchObject({ ready: { reason: "Stopping" }, requeueAfterMs: 30_000 }),
  );
});

test.each([
  ["$(HOME)", "$$(HOME)"],
  ["$5 $$ $(", "$$5 $$$$ $$("],
  ["plain", "plain"],
])("%s is written as %s", (text, expected) => expect(literal(text)).toBe(expected));
