// Each code of `cup doctor --cluster` on a real kube-apiserver: provoked, found alone, mended, silent. Statuses that need a node or a controller are written by hand.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHECK_GROUPS } from "../../../cli/doctor/checks.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { REWOUND_EXIT_CODE } from "../../../crds/replica/rewound.ts";
import { Replica } from "../../../crds/replica/replica.ts";
import { Deployment, IngressClass, Job, Lease, Pod } from "../../../kube/api/builtin.ts";
import { makeAuthority } from "../../../kube/server/pki.ts";
import { whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { whyNoRegistry } from "../../cluster/registry.ts";
import { eventually } from "../../eventually.ts";
import { DoctorWorld, type DoctorRow } from "./doctor-world.ts";
import { probeRows } from "./probe-rows.ts";
import { tenantRows } from "./tenant-rows.ts";

const SYSTEM = { namespace: SYSTEM_NAMESPACE };
const MINUTE = 60_000;
const CUP = join(import.meta.dirname, "..", "..", "..", "cli", "cup.ts");

const reason = whyNoControlPlane() ?? whyNoBinaries(["helm"]) ?? whyNoRegistry();
if (reason) console.log(`the doctor: skipped, ${reason}`);

describe.skipIf(reason)("cup doctor --cluster", () => {
  const world = new DoctorWorld();
  beforeAll(() => world.start(), 10 * MINUTE);
  afterAll(() => world.stop(), MINUTE);

  const CONTROLLERS = { ...SYSTEM, name: "cupola-controllers" };
  const LEADER = { ...SYSTEM, name: "leader-controllers" };
  const patch = (body: Record<string, unknown>) => ({ type: "merge", body }) as const;
  const leads = (spec: Record<string, unknown>): Promise<unknown> => world.admin.patch(Lease, LEADER, patch({ spec }));
  const setController = (availableReplicas: number): Promise<void> =>
    world.setStatus(Deployment, CONTROLLERS, { availableReplicas });
  const podStatus = (status: Record<string, unknown>): Promise<void> => world.setStatus(Pod, CONTROLLERS, status);
  const container = (state: Record<string, unknown>): Record<string, unknown> => ({
    containerStatuses: [
      { name: "cupola", image: "i", imageID: "i", ready: false, restartCount: 3, state: {}, lastState: {}, ...state },
    ],
  });
  const replicaStatus = (status: Record<string, unknown>): Promise<void> =>
    world.setStatus(Replica, { ...SYSTEM, name: "cupola-api-1" }, status);
  const defaultIngress = (value: string | null): Promise<unknown> =>
    world.admin.patch(
      IngressClass,
      { name: "nginx" },
      patch({ metadata: { annotations: { "ingressclass.kubernetes.io/is-default-class": value } } }),
    );
  const leadTo = (name: string, addresses: string[] | undefined): Promise<void> => {
    if (addresses) world.names.set(name, addresses);
    else world.names.delete(name);
    return Promise.resolve();
  };
  const later = { minutesLater: 11 };

  const rows: DoctorRow[] = [
    {
      code: 101,
      fault: "whoever is about to install lacks rights",
      break: async () => {
        const seen = "--resource=ingressclasses.networking.k8s.io,apiservices.apiregistration.k8s.io";
        await world.kubectl("create", "clusterrole", "reader", "--verb=get,list", seen);
        await world.kubectl("create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=reader");
        // All rights in the chart's namespace are not enough for kinds of the whole cluster.
        const there = ["-n", SYSTEM_NAMESPACE, "--clusterrole=cluster-admin", "--user=reader"];
        await world.kubectl("create", "rolebinding", "reader", ...there);
      },
      words: "that an installation needs",
      mend: () =>
        world.kubectl("create", "clusterrolebinding", "reader-admin", "--clusterrole=cluster-admin", "--user=reader"),
      look: { pre: true },
    },
    {
      code: 102,
      fault: "the clocks differ",
      break: () => Promise.resolve(),
      words: "clocks of kube-apiserver and of this machine differ by 1",
      mend: () => Promise.resolve(),
      look: { behindSeconds: 10 },
    },
    {
      code: 102,
      fault: "no IngressClass is the default",
      break: () => defaultIngress(null),
      words: "no IngressClass is the default",
      mend: () => defaultIngress("true"),
    },
    {
      code: 102,
      fault: "the Gateway is absent",
      break: () =>
        world.admin.create(BackendClass, {
          metadata: { name: "gateway" },
          spec: { role: "router", parameters: { gatewayName: "web", gatewayNamespace: "edge" } },
        }),
      words: "Gateway web does not exist",
      mend: () => world.admin.delete(BackendClass, { name: "gateway" }),
    },
    {
      code: 103,
      fault: "no metrics.k8s.io",
      break: () => world.kubectl("delete", "crd", "pods.metrics.k8s.io"),
      words: "CPU and memory of instances are unknown",
      mend: () => world.installMetrics(),
    },
    {
      code: 201,
      fault: "an admission policy is of another version",
      break: () => setActions("Warn"),
      words: "1 object of the chart is not as this version needs them",
      mend: () => setActions("Deny"),
    },
    {
      code: 201,
      fault: "a ClusterRole lacks rules",
      break: async () => {
        await world.shell("kubectl get clusterrole cupola-space-developer -o json > kept-role.json");
        await world.kubectl("patch", "clusterrole", "cupola-space-developer", "--type=merge", "-p", '{"rules":[]}');
      },
      words: "1 object of the chart",
      mend: () => world.shell("kubectl get -f kept-role.json && kubectl replace --force -f kept-role.json"),
    },
    {
      code: 202,
      fault: "objects are stored in a version that is not served",
      break: () => storeOldVersion(),
      words: "objects of olds.constraints.cupola.dev are stored as v0",
      mend: () =>
        world.shell(
          `kubectl patch crd olds.constraints.cupola.dev --subresource=status --type=merge -p '{"status":{"storedVersions":["v1"]}}'`,
        ),
    },
    {
      code: 203,
      fault: "two images run",
      break: async () => {
        const { spec } = await world.admin.get(Deployment, CONTROLLERS);
        await world.createPod("cupola-controllers-new", spec?.template, "registry.example.org/cupola:next");
      },
      words: "cupola-controllers runs registry.example.org/cupola:next and ",
      mend: () => world.admin.delete(Pod, { ...SYSTEM, name: "cupola-controllers-new" }, { gracePeriodSeconds: 0 }),
      look: later,
    },
    {
      code: 204,
      fault: "the Job cupola-settings failed",
      break: () => failSettings(),
      words: "the Job cupola-settings failed: the registry is away",
      mend: () => world.admin.delete(Job, { ...SYSTEM, name: "cupola-settings" }, { propagationPolicy: "Background" }),
    },
    {
      code: 204,
      fault: "a RoleBinding of an account is gone",
      break: async () => {
        await world.shell("kubectl get rolebinding -n cupola-system cupola-api.api -o json > kept-binding.json");
        await world.kubectl("delete", "rolebinding", "-n", SYSTEM_NAMESPACE, "cupola-api.api");
      },
      words: "1 right of the platform's accounts is missing",
      mend: () => world.shell("kubectl replace --force -f kept-binding.json"),
    },
    {
      code: 301,
      fault: "a part has no ready replica",
      break: async () => {
        await setController(0);
        await podStatus(container({ state: { waiting: { reason: "ImagePullBackOff", message: "not found" } } }));
      },
      words: "cupola-controllers has no ready replica: ImagePullBackOff: not found",
      mend: async () => {
        await setController(2);
        await podStatus({ containerStatuses: null });
      },
    },
    {
      code: 302,
      fault: "a watch is parked",
      break: () =>
        replicaStatus({ parked: [{ resource: "routes.cupola.dev", namespace: "acme-dev", reason: "Forbidden" }] }),
      words: "routes.cupola.dev cannot be watched in acme-dev: Forbidden",
      mend: () => replicaStatus({ parked: null }),
    },
    {
      code: 302,
      fault: "a part of a process is degraded",
      break: () => replicaStatus({ degraded: [{ name: "registry", reason: "refuses the login" }] }),
      words: "registry: refuses the login",
      mend: () => replicaStatus({ degraded: null }),
    },
    {
      code: 303,
      fault: "nobody holds a Lease",
      break: () => leads({ holderIdentity: "" }),
      words: "nobody holds leader-controllers",
      mend: () => leads({ holderIdentity: "one" }),
    },
    {
      code: 303,
      fault: "a Lease is not renewed",
      break: () => leads({ leaseDurationSeconds: 1, renewTime: "2026-01-01T00:00:00.000000Z" }),
      words: "one holds leader-controllers, and does not renew it",
      mend: () =>
        leads({ leaseDurationSeconds: 86_400, renewTime: `${new Date().toISOString().slice(0, 19)}.000000Z` }),
    },
    {
      code: 304,
      fault: "the webhook is silent",
      break: () => world.stopWebhook(),
      words: "the webhook does not answer",
      mend: () => world.startWebhook(),
    },
    {
      code: 305,
      fault: "a certificate of the chart ends soon",
      break: () => world.writeTlsSecret(5),
      words: "the certificate of Secret api-tls ends in 4 days",
      mend: () => world.writeTlsSecret(365),
    },
    {
      code: 305,
      fault: "clients do not know the authority",
      break: async () => world.serveCertificate(await makeAuthority("unknown")),
      words: "clients refuse the certificate of localhost",
      mend: () => world.serveCertificate(),
    },
    {
      code: 306,
      fault: "the API's name leads nowhere",
      break: () => leadTo("localhost", []),
      words: "localhost leads nowhere",
      mend: () => leadTo("localhost", undefined),
    },
    {
      code: 306,
      fault: "the API's name leads elsewhere than to its Ingress",
      break: async () => {
        const rule = "api.example.org/*=cupola-api:443";
        await world.kubectl("create", "ingress", "cupola-api", "-n", SYSTEM_NAMESPACE, `--rule=${rule}`);
        const status = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } };
        await world.kubectl(
          ...["patch", "ingress", "cupola-api", "-n", SYSTEM_NAMESPACE, "--subresource=status", "--type=merge"],
          ...["-p", JSON.stringify({ status })],
        );
      },
      words: "localhost leads to 127.0.0.1, not to 192.0.2.1",
      mend: () => world.kubectl("delete", "ingress", "cupola-api", "-n", SYSTEM_NAMESPACE),
    },
    {
      code: 307,
      fault: "the cluster went back in time",
      break: () =>
        podStatus(
          container({
            lastState: {
              terminated: {
                exitCode: REWOUND_EXIT_CODE,
                reason: "Error",
                finishedAt: `${new Date().toISOString().slice(0, 19)}Z`,
              },
            },
          }),
        ),
      words: "the cluster went back to an earlier state",
      mend: () => podStatus({ containerStatuses: null }),
    },
    {
      code: 601,
      fault: "a process was killed for its memory",
      break: () =>
        podStatus(
          container({
            lastState: {
              terminated: {
                exitCode: 137,
                reason: "OOMKilled",
                finishedAt: `${new Date().toISOString().slice(0, 19)}Z`,
              },
            },
          }),
        ),
      words: "cupola-controllers was killed for its memory",
      mend: () => podStatus({ containerStatuses: null }),
    },
    {
      code: 601,
      fault: "a process uses most of its memory",
      break: () =>
        world.admin.create(
          { group: "metrics.k8s.io", version: "v1beta1", kind: "PodMetrics", plural: "pods", namespaced: true },
          { metadata: CONTROLLERS, containers: [{ name: "cupola", usage: { memory: "1000Mi" } }] },
        ),
      words: "cupola-controllers uses 1000M of 1G",
      mend: () => world.kubectl("delete", "pods.metrics.k8s.io", "-n", SYSTEM_NAMESPACE, "cupola-controllers"),
    },
    ...probeRows(world),
    ...tenantRows(world),
  ];

  const setActions = (action: string): Promise<string> =>
    world.kubectl(
      ...["patch", "validatingadmissionpolicybinding", "lifetimes.cupola.dev", "--type=merge"],
      ...["-p", JSON.stringify({ spec: { validationActions: [action] } })],
    );

  async function storeOldVersion(): Promise<void> {
    const schema = { openAPIV3Schema: { type: "object" } };
    await world.admin.raw("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "olds.constraints.cupola.dev" },
      spec: {
        group: "constraints.cupola.dev",
        scope: "Cluster",
        names: { kind: "Old", plural: "olds" },
        versions: [
          { name: "v1", served: true, storage: true, schema },
          { name: "v0", served: false, storage: false, schema },
        ],
      },
    });
    await eventually(() =>
      world.shell(
        `kubectl patch crd olds.constraints.cupola.dev --subresource=status --type=merge -p '{"status":{"storedVersions":["v0","v1"]}}'`,
      ),
    );
  }

  async function failSettings(): Promise<void> {
    const spec = { restartPolicy: "Never", containers: [{ name: "settings", image: "i" }] };
    await world.admin.create(Job, { metadata: { ...SYSTEM, name: "cupola-settings" }, spec: { template: { spec } } });
    const at = `${new Date().toISOString().slice(0, 19)}Z`;
    const condition = {
      status: "True",
      reason: "BackoffLimitExceeded",
      message: "the registry is away",
      lastTransitionTime: at,
    };
    await world.setStatus(
      Job,
      { ...SYSTEM, name: "cupola-settings" },
      {
        startTime: at,
        failed: 1,
        conditions: [
          { type: "FailureTarget", ...condition },
          { type: "Failed", ...condition },
        ],
      },
    );
  }

  test(
    "finds nothing on a platform where nothing is wrong",
    async () => {
      for (const options of [{}, later, { probe: true }])
        await eventually(
          async () => expect(await world.look(options)).toEqual({ codes: [], findings: [], unread: [] }),
          MINUTE,
        );
    },
    3 * MINUTE,
  );

  test.each(rows)(
    "$code: $fault",
    async ({ code, words, look = {}, ...row }) => {
      const options = code === 101 ? { ...look, as: world.reader } : look;
      await row.break();
      const { findings } = await eventually(async () => {
        const seen = await world.look(options);
        expect(seen).toMatchObject({ codes: [code], unread: [] });
        return seen;
      }, MINUTE);
      expect(findings.map(({ what }) => what).join("\n")).toContain(words);
      expect(findings.every(({ next }) => next.length > 0)).toBe(true);
      await row.mend();
      const mended = options.behindSeconds === undefined ? options : {};
      await eventually(async () => expect(await world.look(mended)).toMatchObject({ codes: [], unread: [] }), MINUTE);
    },
    3 * MINUTE,
  );

  test("every code has its row", () => {
    const codes = CHECK_GROUPS.flatMap(({ checks }) => checks.map(({ code }) => code));
    expect(codes.filter((code) => !rows.some((row) => row.code === code))).toEqual([]);
  });

  const cup = (...args: string[]): Promise<{ code: number; stdout: string }> =>
    new Promise((resolve) => {
      execFile(process.execPath, [CUP, "doctor", "--cluster", ...args], { timeout: MINUTE }, (error, stdout) =>
        resolve({ code: error ? Number(error.code) : 0, stdout }),
      );
    });

  test(
    "the exit code says: fine, a problem, or could not look",
    async () => {
      const kubeconfig = ["--kubeconfig", world.plane.kubeconfig];
      expect(await cup("--pre", ...kubeconfig)).toMatchObject({ code: 0 });
      await setController(0);
      const broken = await cup("--json", ...kubeconfig);
      expect(broken.code).toBe(1);
      const { findings } = JSON.parse(broken.stdout) as { findings: { code: number }[] };
      expect(findings.map(({ code }) => code)).toContain(301);
      await setController(2);
      expect(await cup("--kubeconfig", join(world.folder, "none"))).toMatchObject({ code: 2 });
    },
    2 * MINUTE,
  );

  test(
    "a reader without rights gets no false all-clear",
    async () => {
      await world.kubectl("delete", "clusterrolebinding", "reader-admin");
      await eventually(async () => {
        const { codes, unread } = await world.look({ as: world.reader });
        expect(codes).toEqual([]);
        expect(unread.length).toBeGreaterThan(10);
      }, MINUTE);
    },
    2 * MINUTE,
  );
});
