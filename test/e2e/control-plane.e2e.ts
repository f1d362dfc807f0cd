// On a real kube-apiserver: a push of an image leads to exactly the golden Deployment, Service and Ingress, and its deletion takes them away.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LRP } from "../../crds/lrp/lrp.ts";
import { type Document, parseAllDocuments, stringify } from "yaml";
import { runCommand } from "../../scripts/run-command.ts";
import { Deployment, Ingress, Namespace, PodDisruptionBudget, Service } from "../../kube/api/builtin.ts";
import { resourcePath } from "../../kube/api/resource-ref.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { whyNoControlPlane } from "../cluster/binaries.ts";
import { startClusterPlatform, type ClusterPlatform } from "./support/cluster-platform.ts";
import { eventually } from "../eventually.ts";

const CUP = join(import.meta.dirname, "..", "..", "cli", "cup.ts");
const IMAGE = "registry.example.org/shop@sha256:0000000000000000000000000000000000000000000000000000000000000000";
const reason = whyNoControlPlane();
if (reason) console.log(`control-plane journey skipped: ${reason}`);

describe.skipIf(reason)("the platform on a real control plane", () => {
  let platform: ClusterPlatform;
  let env: Record<string, string>;
  let namespace: string;

  async function cup(...args: string[]): Promise<string> {
    const { code, output } = await runCommand([process.execPath, CUP, ...args], {
      cwd: platform.home,
      deadlineMs: 60_000,
      env,
    });
    expect(code, `cup ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  async function generated(): Promise<KubeObject[]> {
    const lists = await Promise.all(
      [Deployment, PodDisruptionBudget, Service, Ingress].map((ref) =>
        platform.admin.list<KubeObject>(ref, { namespace }),
      ),
    );
    return lists.flatMap((list) => list.items);
  }

  beforeAll(async () => {
    platform = await startClusterPlatform("api,controllers,deployment-runner,ingress-router");
    env = {
      CUP_HOME: join(platform.home, "cup"),
      CUPOLA_HOME: join(platform.home, "none"),
      KUBECONFIG: platform.kubeconfig,
      NO_COLOR: "1",
    };
    await cup("login", "--api", platform.url, "--kubeconfig", platform.kubeconfig, "--user", "admin");
    await cup("create-org", "acme");
    await cup("target", "--org", "acme");
    await cup("create-space", "dev");
    await cup("target", "--space", "dev");
    namespace = "acme-dev";
  }, 180_000);
  afterAll(() => platform?.stop());

  test("a push writes the golden objects, and nothing else", async () => {
    // No kubelet here, so the push waits for instances that never run: it is ended once the objects are there.
    const push = spawn(
      process.execPath,
      [CUP, "push", "shop", "--docker-image", IMAGE, "-m", "256M", "-i", "2", "--no-manifest"],
      { cwd: platform.home, env: { ...process.env, ...env }, stdio: "ignore" },
    );
    try {
      const objects = await eventually(async () => {
        const found = await generated();
        expect(found.map((object) => object.kind).sort()).toEqual([
          "Deployment",
          "Ingress",
          "PodDisruptionBudget",
          "Service",
        ]);
        // Kubernetes' own controller has seen it.
        expect(found.find(({ kind }) => kind === "Deployment")?.metadata.annotations).toHaveProperty([
          "deployment.kubernetes.io/revision",
        ]);
        return found;
      }, 60_000);
      await expect(objects.map((object) => stringify(normalised(object))).join("---\n")).toMatchFileSnapshot(
        "control-plane.golden.yaml",
      );
    } finally {
      push.kill("SIGKILL");
    }
  });

  test("the pods pass where restricted Pod Security is enforced", async () => {
    const restricted = {
      metadata: { name: "restricted", labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    };
    await platform.admin.create(Namespace, restricted);
    const [deployment] = (await platform.admin.list(Deployment, { namespace })).items;
    const template = deployment?.spec?.template;
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "probe", namespace: "restricted", labels: template?.metadata?.labels },
      spec: template?.spec,
    };
    const answer = await platform.admin.raw("POST", "/api/v1/namespaces/restricted/pods?dryRun=All", pod);
    expect(answer).toMatchObject({ kind: "Pod" });
  });

  test("no webhook is installed", async () => {
    for (const kind of ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]) {
      const list = (await platform.admin.raw("GET", `/apis/admissionregistration.k8s.io/v1/${kind}`)) as {
        items: unknown[];
      };
      expect(list.items).toEqual([]);
    }
  });

  test("nothing is written while idle", async () => {
    // Nothing opens the pods' gates here, which the status says after some seconds.
    await eventually(async () => {
      const [lrp] = (await platform.admin.list(LRP, { namespace })).items;
      expect(lrp?.status?.instances?.map(({ details }) => details)).toEqual([
        expect.stringContaining("instance-index"),
        expect.stringContaining("instance-index"),
      ]);
    });
    const before = await settledVersion(platform);
    // A minute is too long for a journey; five seconds of silence after five seconds of silence are enough to see a loop.
    await new Promise((resolve) => setTimeout(resolve, 5000));
    expect(await ownVersion(platform)).toBe(before);
  });

  test("cup workload shows what is generated, and cup adjust patches it from the next start on", async () => {
    const shown = await cup("workload", "shop");
    expect(shown).toMatch(/^lrp: +shop-web-[0-9a-f]{10} \(class deployment, rendering \d+, revision 1\)$/m);
    expect(shown).toMatch(/^applies: +Deployment shop-web-[0-9a-f]{10}, PodDisruptionBudget shop-web-[0-9a-f]{10}$/m);
    expect(shown).toMatch(/^Service +s-shop/m);
    const [applied] = (parseAllDocuments(await cup("workload", "shop", "-o", "yaml")) as Document[]).map(
      (document) => document.toJS() as KubeObject,
    );
    const live = await platform.admin.get(Deployment, { namespace, name: applied?.metadata.name ?? "" });
    expect(live).toMatchObject({ spec: { replicas: 2, template: { metadata: { labels: applied?.metadata.labels } } } });

    const patch = join(platform.home, "patch.yaml");
    writeFileSync(patch, "spec:\n  hostNetwork: true\n");
    await expect(cup("adjust", "shop", "-f", patch)).rejects.toThrow(/spec\.hostNetwork: pods of apps use nothing/);
    writeFileSync(patch, "spec:\n  nodeSelector: { disk: ssd }\n");
    expect(await cup("adjust", "shop", "-f", patch)).toContain("it acts at the next start");
    expect(await cup("workload", "shop")).toMatch(/^adjusted by: +shop\.web \(Pending: /m);
    const json = JSON.parse(await cup("--json", "workload", "shop")) as {
      processes: { adjustments: KubeObject[]; objects: KubeObject[] }[];
      unreadable: string[];
    };
    expect(json.processes).toMatchObject([{ running: true, adjustments: [{ kind: "Adjustment" }], objects: [{}, {}] }]);
    expect(json.unreadable).toEqual([]);

    await cup("stop", "shop");
    await eventually(async () => expect((await platform.admin.list(LRP, { namespace })).items).toEqual([]));
    expect(await cup("workload", "shop")).toMatch(/^lrp: +shop-web-[0-9a-f]{10}, when it starts \(class deployment/m);
    expect(await cup("adjust", "shop", "--remove")).toContain("is removed");
  });

  test("cup detach hands the workload over, and cup attach takes it back", async () => {
    await expect(cup("detach", "shop")).rejects.toThrow(/nothing of shop runs that could be handed over/);
    const start = spawn(process.execPath, [CUP, "start", "shop"], { env: { ...process.env, ...env }, stdio: "ignore" });
    const deployment = await eventually(async () => {
      const [found] = (await platform.admin.list(Deployment, { namespace })).items;
      expect(found).toBeDefined();
      return found?.metadata ?? { name: "" };
    }).finally(() => start.kill("SIGKILL"));
    const told = await cup("detach", "shop");
    expect(told).toContain(`Deployment ${deployment.name}, process web`);
    expect(told).toContain(`kubectl patch deployment ${deployment.name} -n ${namespace} --type json -p`);
    await eventually(async () => {
      const { metadata } = await platform.admin.get(Deployment, { namespace, name: deployment.name });
      expect([metadata.uid, metadata.ownerReferences]).toEqual([deployment.uid, undefined]);
    });
    expect(await cup("workload", "shop")).toContain("detached: yours");
    await expect(cup("restart", "shop")).rejects.toThrow(/App 'shop' is detached.*cup attach shop/);
    await expect(cup("detach", "shop")).rejects.toThrow(/nothing of shop runs that could be handed over/);

    expect(JSON.parse(await cup("--json", "attach", "shop"))).toMatchObject({
      attached: [{ name: deployment.name, replaces: false }],
    });
    await eventually(async () => {
      const { metadata } = await platform.admin.get(Deployment, { namespace, name: deployment.name });
      expect(metadata.ownerReferences).toMatchObject([{ kind: "LRP", name: deployment.name }]);
    });
    await expect(cup("attach", "shop")).rejects.toThrow(/shop is not detached/);
  });

  test("deleting the app deletes its generated objects", async () => {
    await cup("delete", "shop", "--routes", "--force");
    await eventually(async () => expect(await generated()).toEqual([]), 60_000);
  });
});

/** Newest version of any object of ours. Kubernetes' own Leases do not count. */
async function ownVersion(platform: ClusterPlatform): Promise<string> {
  const refs = ["apps", "processes", "revisions", "routes", "claims", "orgs", "spaces"].map((plural) => ({
    group: "cupola.dev",
    version: "v1alpha1",
    kind: "",
    plural,
    namespaced: true,
  }));
  const workloads = ["lrps", "routebindings", "backendclasses"].map((plural) => ({
    group: "workloads.cupola.dev",
    version: "v1alpha1",
    kind: "",
    plural,
    namespaced: true,
  }));
  const lists = await Promise.all(
    [...refs, ...workloads, Deployment, Service, Ingress].map(
      async (ref) => (await platform.admin.raw("GET", resourcePath(ref))) as { items: KubeObject[] },
    ),
  );
  return lists
    .flatMap((list) => list.items.map((item) => `${item.kind}/${item.metadata.name}@${item.metadata.resourceVersion}`))
    .sort()
    .join("\n");
}

async function settledVersion(platform: ClusterPlatform): Promise<string> {
  return eventually(async () => {
    const before = await ownVersion(platform);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(await ownVersion(platform)).toBe(before);
    return before;
  });
}

/** Without what differs from run to run: uids, times, versions, and hashes made of uids. */
function normalised(object: KubeObject): unknown {
  const { status: _status, ...rest } = object;
  const {
    managedFields: _fields,
    uid: _uid,
    resourceVersion: _version,
    creationTimestamp: _created,
    ...metadata
  } = rest.metadata;
  const text = JSON.stringify({ ...rest, metadata })
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<guid>")
    .replace(/-[0-9a-f]{10}(?=["/])/g, "-<hash>")
    .replace(/localhost:\d+/g, "localhost:<port>")
    .replace(/"(clusterIPs?|nodePort)":("[^"]*"|\[[^\]]*\]|\d+),?/g, "");
  return JSON.parse(text.replace(/,}/g, "}"));
}
