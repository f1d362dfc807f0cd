// Services of a cluster on a real node: a broker inside it, which the platform reaches by its Service, and a claim that a Job writes and an app reads, but cannot change.
// By name: `npm run e2e -- --on node cluster-services`.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const BROKER = join(import.meta.dirname, "..", "..", "examples", "cluster-broker", "broker.cjs");
const NAMESPACE = "brokers";
const SPACE = "local-dev";
const SLOW_MS = 180_000;
const reason = chosenPlatformKind() === "node" ? whyNoCf() : "it needs --on node";
if (reason) console.log(`services of a cluster skipped: ${reason}`);

/** `/read` tells the file of the volume, `/touch` why none can be made there. */
const SERVER = `
const { readFileSync, writeFileSync } = require("fs");
const services = JSON.parse(process.env.VCAP_SERVICES ?? "{}");
const folder = services["cluster-volume"]?.[0].volume_mounts[0].container_dir;
const answers = {
  "/read": () => readFileSync(folder + "/model", "utf8"),
  "/touch": () => { writeFileSync(folder + "/touched", ""); return "touched"; },
};
require("http").createServer((request, response) => {
  try { response.end((answers[request.url] ?? (() => "ok"))()); }
  catch (error) { response.statusCode = 500; response.end(error.code); }
}).listen(process.env.PORT);
`;

const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
const podSecurity = { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } };

describe.skipIf(reason)("services of the cluster", { timeout: 600_000 }, () => {
  let stage: TestPlatform;
  let image: string;
  let volume: string;

  beforeAll(async () => {
    stage = await startTestPlatform();
    volume = mkdtempSync(join(tmpdir(), "cupola-volume-"));
    chmodSync(volume, 0o777);
    const path = "jsonpath={.items[0].spec.template.spec.containers[0].image}";
    image = await kubectl("get", "deployments", "-n", "cupola-system", "-o", path);
    await eventually(() => cf("api", stage.url), SLOW_MS);
    await cf("auth", "admin");
    await cf("target", "-o", "local", "-s", "dev");
  }, 900_000);
  afterAll(async () => {
    await stage?.kubectl("delete", "persistentvolume", "models", "--ignore-not-found", "--wait=false");
    await stage?.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false");
    await stage?.kubectl("delete", "clusterrolebinding,clusterrole", NAMESPACE, "--ignore-not-found");
    await stage?.stop();
    if (volume) rmSync(volume, { recursive: true, force: true });
  }, 240_000);

  const run = async (command: Promise<{ code: number | null; output: string }>, what: string): Promise<string> => {
    const { code, output } = await command;
    expect(code, `${what}\n${output}`).toBe(0);
    return output;
  };
  const kubectl = (...args: string[]): Promise<string> => run(stage.kubectl(...args), `kubectl ${args.join(" ")}`);
  const cf = (...args: string[]): Promise<string> => run(cfOn(stage)(...args), `cf ${args.join(" ")}`);

  async function apply(name: string, items: object[]): Promise<void> {
    const file = join(stage.home, `${name}.json`);
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    await kubectl("apply", "-f", file);
  }

  test("a broker inside the cluster offers what is labelled", async () => {
    await apply("claim", claimObjects(volume));
    await apply("broker", brokerObjects(image));
    await kubectl("rollout", "status", "deployment/broker", "-n", NAMESPACE, "--timeout=180s");
    const url = `http://broker.${NAMESPACE}.svc.cluster.local:8080`;
    await cf("create-service-broker", "cluster", "broker", "secret", url);
    for (const offering of ["cluster-volume", "cluster-service"]) await cf("enable-service-access", offering);
    expect(await cf("marketplace")).toMatch(/cluster-volume +models/);
    await cf("create-service", "cluster-service", "broker", "itself", "--wait");
    await cf("create-service-key", "itself", "key", "--wait");
    expect(await cf("service-key", "itself", "key")).toContain(`broker.${NAMESPACE}.svc.cluster.local`);
  });

  test("a Job writes, an app reads, and touch fails with EROFS", async () => {
    await apply("job", [jobObject(image)]);
    await kubectl("wait", "job/writer", "-n", SPACE, "--for=condition=Complete", "--timeout=180s");
    const folder = join(stage.home, "reader");
    mkdirSync(folder);
    writeFileSync(join(folder, "server.js"), SERVER);
    await cf("push", "volumes", "-p", folder, "-m", "256M", "--no-start");
    await cf("create-service", "cluster-volume", "models", "models", "--wait");
    await cf("bind-service", "volumes", "models", "-c", '{"mount": "/data/models"}', "--wait");
    await cf("start", "volumes");
    const ask = (path: string) => stage.get("volumes.apps.localhost", path);
    await eventually(async () => expect((await ask("/read")).body).toBe("written by a Job"), SLOW_MS);
    expect(await ask("/touch")).toMatchObject({ status: 500, body: "EROFS" });
  });

  test("nothing is left of them", async () => {
    await cf("delete", "volumes", "-f", "-r");
    await cf("delete-service-key", "itself", "key", "-f", "--wait");
    for (const name of ["models", "itself"]) await cf("delete-service", name, "-f", "--wait");
    await cf("delete-service-broker", "cluster", "-f");
    await kubectl("delete", "job/writer", "pvc/models", "-n", SPACE);
    expect(readFileSync(join(volume, "model"), "utf8")).toBe("written by a Job");
  });
});

/** A claim of the space, on a folder of the node. */
function claimObjects(path: string): object[] {
  const capacity = { storage: "1Gi" };
  return [
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: "models" },
      spec: {
        capacity,
        accessModes: ["ReadWriteMany"],
        persistentVolumeReclaimPolicy: "Retain",
        storageClassName: "",
        hostPath: { path, type: "Directory" },
      },
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: "models",
        namespace: SPACE,
        labels: { "broker.example.com/plan": "models", "cupola.dev/volume": "read-only" },
      },
      spec: {
        accessModes: ["ReadWriteMany"],
        storageClassName: "",
        volumeName: "models",
        resources: { requests: capacity },
      },
    },
  ];
}

/** As its README says. Any image with Node runs it; the platform's is there. */
function brokerObjects(image: string): object[] {
  const [metadata, labels] = [{ name: "broker", namespace: NAMESPACE }, { app: "broker" }];
  const group = "rbac.authorization.k8s.io";
  const lists = { apiGroups: [""], resources: ["services", "persistentvolumeclaims", "namespaces"], verbs: ["list"] };
  const env = {
    BROKER_USER: "broker",
    BROKER_PASSWORD: "secret",
    NODE_EXTRA_CA_CERTS: "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
  };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: NAMESPACE }, rules: [lists] },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: NAMESPACE },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: NAMESPACE },
      subjects: [{ kind: "ServiceAccount", name: "broker", namespace: NAMESPACE }],
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { "broker.cjs": readFileSync(BROKER, "utf8") } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...metadata, labels: { "broker.example.com/plan": "broker" } },
      spec: { selector: labels, ports: [{ name: "http", port: 8080 }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: "broker",
            securityContext: podSecurity,
            volumes: [{ name: "broker", configMap: { name: "broker" } }],
            containers: [
              {
                name: "broker",
                image,
                command: ["node", "/broker/broker.cjs"],
                env: Object.entries(env).map(([name, value]) => ({ name, value })),
                volumeMounts: [{ name: "broker", mountPath: "/broker" }],
                readinessProbe: { tcpSocket: { port: 8080 } },
                securityContext,
              },
            ],
          },
        },
      },
    },
  ];
}

/** Another workload that writes the claim. */
function jobObject(image: string): object {
  const script = 'require("fs").writeFileSync("/models/model", "written by a Job")';
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "writer", namespace: SPACE },
    spec: {
      template: {
        spec: {
          restartPolicy: "Never",
          securityContext: podSecurity,
          volumes: [{ name: "models", persistentVolumeClaim: { claimName: "models" } }],
          containers: [
            {
              name: "writer",
              image,
              command: ["node", "-e", script],
              volumeMounts: [{ name: "models", mountPath: "/models" }],
              resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "1", memory: "256Mi" } },
              securityContext,
            },
          ],
        },
      },
    },
  };
}
