// State of an LRP's instances by the statuses of its pods. The statuses are those of kubelet and containerd, shortened.
import { describe, expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { LRP, type LrpInstance } from "../../crds/lrp/lrp.ts";
import { lrpSpec } from "../../crds/testing/objects.ts";
import { presentInstances, type PodFacts } from "./instance-status.ts";
import { listObsoletePods, listPodsToRestart } from "./pod-removal.ts";
import type { ProbeFailure } from "./probe-failures.ts";
import { slimPod, type PodObject } from "./slim-pod.ts";

const START = "2026-01-01T00:00:10Z";
const END = "2026-01-01T00:01:10Z";
const guid = "00000000-0000-4000-8000-000000000000";

function lrp(spec: object = {}, status?: object): LRP {
  const parsed = LRP.spec.parse(
    lrpSpec({
      droplet: { guid, kind: "docker", image: "registry.example/shop:1" },
      env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shop-env", key: "PASSWORD" } } }],
      diskMB: 128,
      healthCheck: { type: "port" },
      ...spec,
    }),
  );
  return {
    apiVersion: "workloads.cupola.dev/v1alpha1",
    kind: "LRP",
    metadata: { name: "shop" },
    spec: parsed,
    status,
  } as LRP;
}

function pod(status: object, metadata: object = {}, index = 0): PodObject {
  return slimPod({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "shop-1",
      namespace: "dev",
      uid: "uid-1",
      labels: { [LABELS.instanceIndex]: String(index) },
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
    },
    spec: { containers: [{ name: "application" }] },
    status,
  } as unknown as PodObject);
}

const indexOf = ({ metadata }: PodObject): number | undefined => {
  const label = metadata.labels?.[LABELS.instanceIndex];
  return label === undefined ? undefined : Number(label);
};

/** A pod whose app container has this status. */
const containing = (container: object, more: object = {}): PodObject =>
  pod({
    phase: "Running",
    podIP: "10.1.0.7",
    conditions: [{ type: "Ready", status: "False" }],
    containerStatuses: [{ name: "application", ready: false, restartCount: 0, image: "i", imageID: "i", ...container }],
    ...more,
  });
const running = { running: { startedAt: START } };
const waiting = (reason: string, message?: string): object => ({ state: { waiting: { reason, message } } });
const terminated = (exitCode: number, more: object = {}): object => ({
  terminated: { exitCode, reason: "Error", startedAt: START, finishedAt: END, ...more },
});
const crashed = (exitCode: number, more: object = {}): object => ({
  ...waiting("CrashLoopBackOff", "back-off 10s restarting failed container=application"),
  restartCount: 1,
  lastState: terminated(exitCode, more),
});
const ready = { conditions: [{ type: "Ready", status: "True" }] };

function present(pods: PodObject[], more: Partial<PodFacts> = {}): LrpInstance[] {
  return presentInstances({
    lrp: lrp(),
    pods,
    indexOf,
    probeFailures: () => [],
    now: new Date("2026-01-01T00:00:11Z"),
    ...more,
  });
}
const one = (shown: PodObject, more: Partial<PodFacts> = {}): LrpInstance | undefined => present([shown], more)[0];

describe("an instance", () => {
  test("that runs and is ready shows where it is, and since when", () =>
    expect(one(containing({ started: true, ready: true, state: running }, ready))).toEqual({
      index: 0,
      state: "Running",
      ready: true,
      since: START,
      guid: "uid-1",
      host: "10.1.0.7",
      ports: [{ port: 8080, hostPort: 8080 }],
    }));

  test("that runs and does not pass its readiness check gets no requests", () => {
    const checked = { lrp: lrp({ readinessHealthCheck: { type: "http", endpoint: "/" } }) };
    expect(one(containing({ started: true, ready: false, state: running }), checked)).toMatchObject({
      state: "Running",
      ready: false,
    });
  });

  test.each<[string, object, RegExp]>([
    ["has ended", { state: terminated(1) }, /^APP\/PROC\/WEB\/SIDECAR\/proxy: Exited with status 1;/i],
    ["waits for its next start", crashed(1), /^APP\/PROC\/WEB\/SIDECAR\/proxy: Exited with status 1;/i],
    ["used too much memory", crashed(137, { reason: "OOMKilled" }), /SIDECAR.*it may use 64 MB/],
  ])("whose sidecar %s gets no requests, and says so", (_what, sidecar, details) => {
    const proxy = { name: "proxy", ready: false, restartCount: 1, image: "i", imageID: "i", ...sidecar };
    const shown = pod({
      phase: "Running",
      conditions: [{ type: "Ready", status: "False" }],
      containerStatuses: [
        { name: "application", ready: true, started: true, restartCount: 0, image: "i", imageID: "i", state: running },
        proxy,
      ],
    });
    const of = { lrp: lrp({ sidecars: [{ name: "proxy", command: "./proxy", memoryMB: 64 }] }) };
    expect(one(shown, of)).toMatchObject({ state: "Running", ready: false, details: expect.stringMatching(details) });
  });

  test.each<[string, PodObject]>([
    ["that waits for its index or a node", pod({ phase: "Pending" })],
    ["whose image is pulled", containing(waiting("ContainerCreating"))],
    ["whose health check has not succeeded yet", containing({ started: false, state: running })],
    ["that kubelet has not called ready yet", containing({ started: true, state: running })],
  ])("%s is starting, without more to say", (_what, shown) =>
    expect(one(shown)).toEqual({ index: 0, state: "Starting", ready: false }),
  );

  test("whose pod is terminating, or that has none, is starting", () => {
    const ending = pod({ phase: "Running" }, { deletionTimestamp: END });
    expect(present([ending])).toEqual([{ index: 0, state: "Starting", ready: false }]);
    expect(present([])).toEqual([{ index: 0, state: "Starting", ready: false }]);
  });

  test("says what its health check found once it takes seconds", () => {
    const failures: ProbeFailure[] = [{ probe: "Startup", why: "port 8080: connection refused", at: START }];
    const shown = containing({ started: false, state: running });
    expect(one(shown, { probeFailures: () => failures })?.details).toBeUndefined();
    expect(one(shown, { probeFailures: () => failures, now: new Date(END) })?.details).toMatch(
      /^Instance not healthy yet: port 8080: connection refused;/,
    );
  });
});

describe("an instance that does not run says why", () => {
  const pull =
    'failed to pull and unpack image "registry.example/shop:1": failed to resolve reference "registry.example/shop:1"';
  test.each<[string, PodObject, LrpInstance["state"], RegExp]>([
    ["an exit", containing(crashed(3)), "Crashed", /^APP\/PROC\/WEB: Exited with status 3;/],
    [
      "between end and back-off",
      containing({ state: terminated(3) }),
      "Crashed",
      /^APP\/PROC\/WEB: Exited with status 3;/,
    ],
    ["too much memory", containing(crashed(137, { reason: "OOMKilled" })), "Crashed", /out of memory.* 64 MB/],
    [
      "a command that does not exist",
      containing(
        crashed(128, { reason: "StartError", message: 'exec: "nope": executable file not found in $PATH: unknown' }),
      ),
      "Crashed",
      /^The instance cannot be started: exec: "nope": executable file not found/,
    ],
    [
      "an image that does not exist",
      containing(
        waiting("ErrImagePull", `rpc error: code = NotFound desc = ${pull}: registry.example/shop:1: not found`),
      ),
      "Crashed",
      /^Image registry\.example\/shop:1 cannot be pulled: not found;/,
    ],
    [
      "the same between two attempts",
      containing(
        waiting(
          "ImagePullBackOff",
          `Back-off pulling image "registry.example/shop:1": ErrImagePull: ${pull}: registry.example/shop:1: not found`,
        ),
      ),
      "Crashed",
      /^Image registry\.example\/shop:1 cannot be pulled: not found;/,
    ],
    [
      "a registry that does not answer, which may help itself",
      containing(waiting("ErrImagePull", `${pull}: dial tcp 10.0.0.1:443: connect: connection refused`)),
      "Down",
      /cannot be pulled: .*connection refused;/,
    ],
    [
      "a name that is none",
      containing(waiting("InvalidImageName", 'Failed to apply default image tag "A:B:C"')),
      "Crashed",
      /^Image/,
    ],
    [
      "a missing Secret",
      containing(waiting("CreateContainerConfigError", 'secret "shop-env" not found')),
      "Down",
      /^Variable PASSWORD needs Secret shop-env, which does not exist;/,
    ],
    [
      "a missing key",
      containing(waiting("CreateContainerConfigError", "couldn't find key PASSWORD in Secret dev/shop-env")),
      "Down",
      /^Variable PASSWORD needs key PASSWORD of Secret shop-env,/,
    ],
    [
      "an image that runs as root",
      containing(
        waiting(
          "CreateContainerConfigError",
          'container has runAsNonRoot and image will run as root (pod: "shop-1_dev(uid-1)", container: application)',
        ),
      ),
      "Crashed",
      /may not run as root: container has runAsNonRoot and image will run as root; give the image a numeric USER/,
    ],
    [
      "no node with room",
      pod({
        phase: "Pending",
        conditions: [
          {
            type: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            message: "0/1 nodes are available: 1 Insufficient memory.",
          },
        ],
      }),
      "Down",
      /^No node has room for the instance: 0\/1 nodes are available: 1 Insufficient memory;/,
    ],
  ])("%s", (_what, shown, state, details) => {
    const instance = one(shown);
    expect(instance).toMatchObject({ state, ready: false });
    expect(instance?.details).toMatch(details);
  });

  test.each<[string, ProbeFailure, RegExp]>([
    [
      "never healthy",
      { probe: "Startup", why: "port 8080: connection refused", at: END },
      /^Instance never healthy after 60s: port 8080: connection refused;/,
    ],
    [
      "no longer healthy",
      { probe: "Liveness", why: "HTTP probe failed with statuscode: 500", at: END },
      /^Instance became unhealthy: .*500;/,
    ],
    [
      "a failure before that run does not count",
      { probe: "Liveness", why: "old", at: "2026-01-01T00:00:00Z" },
      /^APP\/PROC\/WEB: Exited with status 137;/,
    ],
  ])("%s", (_what, failure, details) =>
    expect(one(containing(crashed(137)), { probeFailures: () => [failure] })?.details).toMatch(details),
  );

  test("an image that is refused is crashed at kubelet's second attempt: at its first it may not have read the pull Secret", () => {
    const conditions = [{ type: "PodReadyToStartContainers", status: "True", lastTransitionTime: START }];
    const refused = containing(waiting("ErrImagePull", `${pull}: 401 Unauthorized`), { conditions });
    expect(one(refused, { now: new Date("2026-01-01T00:00:29Z") })).toMatchObject({
      state: "Down",
      details: expect.stringMatching(/cannot be pulled: 401 Unauthorized;/) as string,
    });
    expect(one(refused, { now: new Date("2026-01-01T00:00:30Z") })).toMatchObject({ state: "Crashed" });
  });

  test("a crash is counted, and its details stay until the instance runs again", () => {
    expect(one(containing(crashed(3)))).toMatchObject({ crashCount: 1, since: END });
    const again = containing({ restartCount: 1, started: false, state: running, lastState: terminated(3) });
    expect(one(again)).toMatchObject({ state: "Starting", details: expect.stringContaining("status 3") as string });
    const up = containing(
      { restartCount: 1, started: true, ready: true, state: running, lastState: terminated(3) },
      ready,
    );
    expect(one(up)).toMatchObject({ state: "Running", crashCount: 1 });
    expect(one(up)?.details).toBeUndefined();
  });

  test("pods that are missing for all: a quota, or nobody who gives indexes", () => {
    const missing = { state: "Down", problem: { kind: "waitsForIndex" } } as const;
    const waits = pod({ phase: "Pending" }, { labels: {} });
    expect(present([waits], { missing })).toEqual([
      { index: 0, state: "Down", ready: false, details: expect.stringContaining("No instance index") as string },
    ]);
  });
});

describe("pods that the cluster has ended", () => {
  const full = {
    phase: "Failed",
    reason: "Evicted",
    message: "Pod ephemeral local storage usage exceeds the total limit of containers 128Mi. ",
  };
  const low = { phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory. " };
  const next = pod({ phase: "Pending" }, { name: "shop-2", uid: "uid-2", creationTimestamp: START });

  test.each<[string, object, RegExp]>([
    ["a full disk", full, /disk quota exceeded.*128 MB/],
    [
      "a container that wrote too much",
      { ...full, message: 'Container application exceeded its local ephemeral storage limit "128Mi". ' },
      /disk quota exceeded/,
    ],
    ["a full disk of an app that ended with status 0", { phase: "Succeeded" }, /disk quota exceeded.*128 MB/],
    [
      "a shortage of the node of an app that ended with status 0",
      {
        phase: "Succeeded",
        conditions: [{ type: "DisruptionTarget", status: "True", message: "The node was low on resource: memory. " }],
      },
      /^The cluster ended the instance: The node was low on resource: memory;/,
    ],
    ["a shortage of its node", low, /^The cluster ended the instance: The node was low on resource: memory;/],
  ])("%s is told while the next one starts, and counted", (_what, status, details) => {
    const [instance] = present([pod(status), next]);
    expect(instance).toMatchObject({
      state: "Starting",
      crashCount: 1,
      details: expect.stringMatching(details) as string,
    });
    expect(present([pod(status)])[0]).toMatchObject({ state: "Crashed", crashCount: 1 });
  });

  test("but for the newest of each index they are deleted", () => {
    const older = pod(full, { name: "older" });
    const newer = pod(low, { name: "newer", creationTimestamp: START });
    const other = pod(low, { name: "other" }, 1);
    const without = pod(low, { name: "without", labels: {} });
    const obsolete = listObsoletePods([older, newer, other, without, next], indexOf);
    expect(obsolete.map(({ metadata }) => metadata.name).toSorted()).toEqual(["older", "without"]);
  });
});

describe("a restart of one instance", () => {
  const pods = [pod({ phase: "Running" }), pod({ phase: "Running" }, { name: "shop-2" }, 1)];
  const shown = (restart?: string): object => ({
    instances: [0, 1].map((index) => ({
      index,
      state: "Running",
      ready: true,
      ...(index === 1 && restart && { restart }),
    })),
  });
  const names = (of: LRP, some = pods): string[] =>
    listPodsToRestart(of, some, indexOf).map(({ metadata }) => metadata.name);
  const spec = { instances: 2, restartInstances: { "1": "b" } };

  test.each<[string, LRP, string[]]>([
    ["deletes its pod", lrp(spec, shown("a")), ["shop-2"]],
    ["once", lrp(spec, shown("b")), []],
    ["not that of an instance that has not run yet", lrp(spec), []],
    ["not that of an instance that is not wanted", lrp({ ...spec, instances: 1 }, shown("a")), []],
    ["nothing without a request", lrp({ instances: 2 }, shown("a")), []],
  ])("%s", (_what, of, expected) => expect(names(of)).toEqual(expected));

  test("is shown as answered", () => expect(present(pods, { lrp: lrp(spec) })[1]).toMatchObject({ restart: "b" }));
});
