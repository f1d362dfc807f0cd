// The Helm chart: what it refuses and in which words, what it renders, and that a real control plane takes all of it.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { runCommand } from "../../../scripts/run-command.ts";
import { provideBinary, whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";

interface Rendered {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  rules?: unknown;
  data?: Record<string, string>;
  spec?: { replicas?: number; template?: { spec: PodSpec } };
}
interface PodSpec {
  serviceAccountName: string;
  priorityClassName?: string;
  securityContext: object;
  volumes: { name: string; emptyDir?: { sizeLimit?: string } }[];
  containers: { args: string[]; securityContext: object; readinessProbe: object; livenessProbe: object }[];
}

const CHECKOUT = join(import.meta.dirname, "..", "..", "..");
const CHART = join(CHECKOUT, "deploy", "helm", "cupola");
const VALUES = {
  image: { repository: "registry.example.org/cupola" },
  api: { publicUrl: "https://api.example.org" },
  apps: { domain: "apps.example.org" },
  admins: { users: ["alice"], groups: ["platform"] },
  builders: { cnb: { builderImage: "registry.example.org/builder:1" } },
  registry: {
    prefix: "registry.example.org/apps",
    username: "u",
    password: "p",
    pull: { username: "r", password: "q" },
  },
};

const reason = whyNoControlPlane() ?? whyNoBinaries(["helm"]);
if (reason) console.log(`the chart: skipped, ${reason}`);

function expectRestrictedReplicas({ metadata, spec }: Rendered): void {
  const pod = spec?.template?.spec;
  expect([metadata.name, spec?.replicas]).toEqual([metadata.name, 2]);
  expect(pod?.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
  expect(pod?.containers[0]?.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
}

function operationsOf({ spec }: Rendered): string[] {
  const args = spec?.template?.spec.containers[0]?.args.join(" ") ?? "";
  return /--operation=(\S+)/.exec(args)?.[1]?.split(",") ?? [];
}

/** The rules of an operation's role among some objects. */
function rulesOf(objects: readonly Rendered[], kind: string, operation: string): unknown {
  return objects.find((each) => each.kind === kind && each.metadata.name === `cupola-${operation}`)?.rules;
}

describe.skipIf(reason)("the chart", () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-chart-"));
  let binary: string;

  beforeAll(async () => {
    binary = await provideBinary("helm");
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function helm(
    args: string[],
    values: object,
    kubeconfig = "",
  ): Promise<{ code: number | null; output: string }> {
    const file = join(folder, "values.yaml");
    writeFileSync(file, stringify(values));
    const env = { KUBECONFIG: kubeconfig, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
    return runCommand([binary, ...args, "-n", "cupola-system", "-f", file], { cwd: folder, deadlineMs: 60_000, env });
  }

  async function render(values: object): Promise<Rendered[]> {
    const { code, output } = await helm(["template", "cupola", CHART], values);
    expect(code, output.slice(-2000)).toBe(0);
    return parseAllDocuments(output)
      .map((document) => document.toJS() as Rendered | null)
      .filter((object) => object !== null);
  }

  test.each([
    ["an empty image", { ...VALUES, image: { repository: "" } }, "set image.repository to the image"],
    ["no address of the API", { ...VALUES, api: { publicUrl: "" } }, "set api.publicUrl to the address"],
    ["no domain", { ...VALUES, apps: { domain: "" } }, "set apps.domain to the domain"],
    ["an unknown value", { ...VALUES, replica: 3 }, "additional properties 'replica' not allowed"],
    ["no replicas", { ...VALUES, replicas: 0 }, "/replicas"],
    ["a builder without a registry", { ...VALUES, registry: { prefix: "" } }, "builders.cnb needs a registry"],
    ["half a login", { ...VALUES, registry: { ...VALUES.registry, password: "" } }, "go together"],
    ["a default that is off", { ...VALUES, runners: { deployment: { enabled: false } } }, "runners.default is"],
    [
      "an Ingress of the API without TLS",
      { ...VALUES, api: { ...VALUES.api, ingress: { enabled: true } } },
      "api.ingress needs",
    ],
    [
      "Traefik's settings without the Ingress of the API",
      { ...VALUES, api: { ...VALUES.api, ingress: { traefik: { enabled: true } } } },
      "set api.ingress.enabled=true",
    ],
    [
      "an authority without its certificate",
      { ...VALUES, api: { ...VALUES.api, ingress: { traefik: { caSecretName: "authority" } } } },
      "belongs to api.tls.secretName",
    ],
    ["cf ssh without a login by token", { ...VALUES, ssh: { enabled: true } }, "set api.tokenLogin.hosts"],
    [
      "a Gateway without a name",
      { ...VALUES, routers: { gateway: { enabled: true } } },
      "routers.gateway needs the Gateway",
    ],
  ])("refuses %s in words", async (_, values, words) => {
    const { code, output } = await helm(["template", "cupola", CHART], values);
    expect(code).not.toBe(0);
    expect(output).toContain(words);
  });

  test("refuses another namespace than the platform's", async () => {
    const file = join(folder, "elsewhere.yaml");
    writeFileSync(file, stringify(VALUES));
    const wrong = await runCommand([binary, "template", "cupola", CHART, "-n", "elsewhere", "-f", file], {
      cwd: folder,
      deadlineMs: 60_000,
    });
    expect(wrong.output).toContain("install it with --namespace cupola-system --create-namespace");
  });

  test("two restricted replicas of each part, each with the generated rights of its operations", async () => {
    const objects = await render(VALUES);
    const deployments = objects.filter(({ kind }) => kind === "Deployment");
    expect(deployments.map(({ metadata }) => metadata.name).sort()).toEqual(
      ["api", "controllers", "instance-index", "logs", "policies", "webhook"].map((name) => `cupola-${name}`),
    );
    const generated = readDocuments(join(CHECKOUT, "deploy", "rbac", "operations.yaml"));
    for (const deployment of deployments) {
      expectRestrictedReplicas(deployment);
      const { name } = deployment.metadata;
      expect(objects.filter((each) => each.kind === "PodDisruptionBudget" && each.metadata.name === name)).toHaveLength(
        1,
      );
      for (const operation of operationsOf(deployment))
        for (const kind of ["ClusterRole", "Role"])
          expect(rulesOf(objects, kind, operation), `${kind} ${operation}`).toEqual(
            rulesOf(generated, kind, operation) ?? "generated",
          );
    }
  });

  test("the SSH proxy runs, is reached, and is bound in spaces where the values say so, and the API names it", async () => {
    const named = (objects: Rendered[]): string[] => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const api = { ...VALUES.api, tokenLogin: { hosts: ["login.example.org"] } };
    const without = named(await render({ ...VALUES, api }));
    const objects = await render({ ...VALUES, api, ssh: { enabled: true } });
    const added = named(objects).filter((name) => !without.includes(name));
    expect(added.toSorted()).toEqual([
      "ClusterRole cupola-ssh-proxy",
      "ClusterRole cupola-ssh-proxy-exec",
      "ClusterRoleBinding cupola-ssh-proxy.ssh-proxy",
      "Deployment cupola-ssh-proxy",
      "PodDisruptionBudget cupola-ssh-proxy",
      "Role cupola-ssh-proxy",
      "RoleBinding cupola-ssh-proxy.ssh-proxy",
      "Service cupola-ssh",
      "ServiceAccount cupola-ssh-proxy",
    ]);
    const args = (name: string): string[] | undefined =>
      objects.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === name)?.spec?.template?.spec
        .containers[0]?.args;
    expect(args("cupola-api")).toContain("--ssh-address=api.example.org:2222");
    expect(args("cupola-ssh-proxy")).toContain("--ssh-listen=0.0.0.0:2222");
    const binding = objects.find(
      ({ kind, metadata }) => kind === "RoleBinding" && metadata.name.includes("ssh-proxy"),
    ) as Rendered & { metadata: { labels: Record<string, string> } };
    expect(binding.metadata.labels["cupola.dev/space-role"]).toBe("cupola-ssh-proxy-exec");
    expect(await render({ ...VALUES, ssh: null })).not.toEqual([]);
  });

  test("names of internal domains are served where the values say so, at the address that they name", async () => {
    const named = (objects: Rendered[]): string[] => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const without = named(await render(VALUES));
    const routers = { "internal-dns": { enabled: true, clusterIP: "10.96.0.53" } };
    const objects = await render({ ...VALUES, routers });
    expect(
      named(objects)
        .filter((name) => !without.includes(name))
        .toSorted(),
    ).toEqual([
      "ClusterRole cupola-internal-dns",
      "ClusterRoleBinding cupola-internal-dns.internal-dns",
      "Deployment cupola-internal-dns",
      "PodDisruptionBudget cupola-internal-dns",
      "Role cupola-internal-dns",
      "RoleBinding cupola-internal-dns.internal-dns",
      "Service cupola-internal-dns",
      "ServiceAccount cupola-internal-dns",
    ]);
    const find = (kind: string): Rendered | undefined =>
      objects.find((one) => one.kind === kind && one.metadata.name === "cupola-internal-dns");
    expect(find("Deployment")?.spec?.template?.spec.containers[0]?.args).toContain(
      "--internal-dns-listen=0.0.0.0:5353",
    );
    expect(JSON.stringify(find("Service"))).toContain('"clusterIP":"10.96.0.53"');
    expect(JSON.stringify(objects.filter(({ kind }) => kind === "ConfigMap"))).toContain("{ name: internal-dns }");
    const spoke = JSON.stringify(await render({ ...VALUES, mode: "spoke", routers }));
    expect(spoke).not.toContain("name: internal-dns");
    expect(spoke).not.toContain("cupola-internal-dns");
  });

  test("DNS records are written where the values say so, on a hub, with the addresses of its routers", async () => {
    const routers = { ingress: { enabled: true, addresses: ["192.0.2.7", "2001:db8::7"] } };
    const roleOf = (objects: Rendered[]): unknown => rulesOf(objects, "ClusterRole", "dns-records");
    const objects = await render({ ...VALUES, routers, dnsRecords: { enabled: true } });
    expect(objects.filter(({ kind }) => kind === "Deployment").flatMap(operationsOf)).toContain("dns-records");
    expect(JSON.stringify(roleOf(objects))).toContain("dnsendpoints");
    expect(JSON.stringify(objects)).toContain("addresses: 192.0.2.7,2001:db8::7");
    expect(roleOf(await render({ ...VALUES, dnsRecords: null }))).toBeUndefined();
    expect(roleOf(await render({ ...VALUES, mode: "spoke", dnsRecords: { enabled: true } }))).toBeUndefined();
  });

  test("the proxy of route services runs, is reached and trusts authorities where the values say so", async () => {
    const named = (objects: Rendered[]): string[] => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const without = named(await render(VALUES));
    const objects = await render({ ...VALUES, routeServices: { enabled: true, caSecretName: "company" } });
    const added = named(objects).filter((name) => !without.includes(name));
    expect(added.toSorted()).toEqual([
      "ClusterRole cupola-route-service",
      "ClusterRoleBinding cupola-route-service.route-service",
      "Deployment cupola-route-service",
      "PodDisruptionBudget cupola-route-service",
      "Role cupola-route-service",
      "RoleBinding cupola-route-service.route-service",
      "Service cupola-route-service",
      "ServiceAccount cupola-route-service",
    ]);
    const pod = objects.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "cupola-route-service")
      ?.spec?.template?.spec;
    expect(pod?.containers[0]).toMatchObject({
      args: expect.arrayContaining(["--route-service-listen=0.0.0.0:8080"]) as unknown,
      env: expect.arrayContaining([
        { name: "NODE_EXTRA_CA_CERTS", value: "/etc/cupola/authorities/ca.crt" },
      ]) as unknown,
    });
    expect(pod?.volumes).toContainEqual({
      name: "authorities",
      secret: { secretName: "company", items: [{ key: "ca.crt", path: "ca.crt" }] },
    });
    expect(named(await render({ ...VALUES, routeServices: null }))).toEqual(without);
  });

  test("a spoke lets its hub keep bundles in the namespaces that the values name, and in no reserved one", async () => {
    const bindings = async (hub: object | null): Promise<string[]> =>
      (await render({ ...VALUES, mode: "spoke", hub }))
        .filter(({ kind, metadata }) => kind === "RoleBinding" && metadata.name === "cupola-hub-bundles")
        .map(({ metadata }) => (metadata as { namespace?: string }).namespace ?? "");
    const namespaces = ["monitoring", "base"];
    expect(await bindings({ bundles: { namespaces } })).toEqual(namespaces);
    expect(await bindings(null)).toEqual([]);
    const reserved = { ...VALUES, mode: "spoke", hub: { bundles: { namespaces: ["kube-system"] } } };
    expect((await helm(["template", "cupola", CHART], reserved)).output).toContain("no bundles in kube-system");
  });

  test("no pod takes more of a node's disk than the values say", async () => {
    const deployments = (await render({ ...VALUES, scratch: { megabytes: 2048 } })).filter(
      ({ kind }) => kind === "Deployment",
    );
    for (const { spec } of deployments) {
      const { volumes = [], containers = [] } = spec?.template?.spec ?? {};
      const limits = volumes.flatMap(({ name, emptyDir }) => (emptyDir ? [[name, emptyDir.sizeLimit]] : []));
      expect(limits).toEqual([
        ["data", "3072Mi"],
        ["tmp", "1Gi"],
      ]);
      expect(containers[0]?.args).toContain("--scratch-mb=2048");
    }
  });

  test("what new pods wait for has the priority of the scheduler, unless the values say otherwise", async () => {
    const names = (objects: readonly Rendered[], kind: string): string[] =>
      objects.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name);
    const classes = (objects: readonly Rendered[]): (string | undefined)[] => [
      ...new Set(objects.map(({ spec }) => spec?.template?.spec.priorityClassName).filter(Boolean)),
    ];
    const usual = await render(VALUES);
    expect(classes(usual)).toEqual(["system-cluster-critical"]);
    expect(names(usual, "FlowSchema")).toEqual(["cupola-instance-index", "cupola-leases"]);
    expect(names(usual, "PriorityLevelConfiguration")).toEqual(["cupola-instance-index"]);
    const plain = await render({ ...VALUES, instanceIndex: { priorityClassName: "", apiPriority: false } });
    expect(classes(plain)).toEqual([]);
    for (const kind of ["FlowSchema", "PriorityLevelConfiguration", "ResourceQuota"])
      expect(names(plain, kind)).toEqual([]);
  });

  test("an upgrade that reuses the values of a release before the priorities renders", async () => {
    const reused = await render({ ...VALUES, instanceIndex: null });
    expect(reused.filter(({ kind }) => kind === "FlowSchema")).toEqual([]);
  });

  test("Traefik is told which name and authority the API's certificate has, as the values say where it comes from", async () => {
    const transportOf = async (api: object, ca = ""): Promise<unknown> => {
      const ingress = { enabled: true, tlsSecretName: "public", traefik: { enabled: true, caSecretName: ca } };
      const objects = await render({ ...VALUES, api: { ...VALUES.api, ...api, ingress } });
      return objects.find(({ kind }) => kind === "ServersTransport")?.spec;
    };
    const serverName = "api.example.org";
    expect(await transportOf({})).toEqual({
      serverName: "cupola-api.cupola-system.svc",
      rootCAs: [{ secret: "cupola-api-tls" }],
    });
    expect(await transportOf({ tls: { secretName: "own" } })).toEqual({ serverName });
    expect(await transportOf({ tls: { secretName: "own" } }, "authority")).toEqual({
      serverName,
      rootCAs: [{ secret: "authority" }],
    });
  });

  test("annotations that the values give to the API's Service win over those for Traefik", async () => {
    const scheme = "traefik.ingress.kubernetes.io/service.serversscheme";
    const ingress = { enabled: true, tlsSecretName: "public", traefik: { enabled: true } };
    const service = { annotations: { [scheme]: "h2c", other: "kept" } };
    const objects = await render({ ...VALUES, api: { ...VALUES.api, ingress, service } });
    expect(
      objects.find(({ kind, metadata }) => kind === "Service" && metadata.name === "cupola-api")?.metadata.annotations,
    ).toEqual({
      [scheme]: "h2c",
      other: "kept",
      "traefik.ingress.kubernetes.io/service.serverstransport": "cupola-system-cupola-api@kubernetescrd",
    });
  });

  test("metrics are served, allowed through, and given to the Prometheus Operator where the values say so", async () => {
    const named = (objects: Rendered[]): string[] => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const args = (objects: Rendered[]): string[] =>
      objects.flatMap(({ spec }) => spec?.template?.spec.containers?.[0]?.args ?? []);
    const without = await render(VALUES);
    expect([named(without).join(), args(without).join()]).toEqual([
      expect.not.stringContaining("metrics"),
      expect.not.stringContaining("metrics"),
    ]);
    const objects = await render({
      ...VALUES,
      metrics: { enabled: true, podMonitor: true, rules: true, dashboards: true },
      traces: { endpoint: "http://collector:4318", share: 0 },
    });
    expect(JSON.stringify(objects)).toContain('"OTEL_TRACES_SAMPLER_ARG","value":"0"');
    expect(args(objects).filter((arg) => arg === "--metrics-address=0.0.0.0:8444")).toHaveLength(6);
    const added = named(objects).filter((name) => !named(without).includes(name));
    expect(added.toSorted()).toEqual([
      "ClusterRole cupola-metrics-reader",
      "ClusterRoleBinding cupola-metrics-reader",
      "ClusterRoleBinding cupola-metrics-reviews",
      ...["api", "controllers", "overview", "process", "push"].map((name) => `ConfigMap cupola-dashboard-${name}`),
      "PodMonitor cupola",
      "PrometheusRule cupola",
      "Secret cupola-metrics-token",
      "ServiceAccount cupola-metrics",
    ]);
    const [rule] = objects.filter(({ kind }) => kind === "PrometheusRule");
    expect(JSON.stringify(rule)).toContain("No process holds the Lease {{ $labels.name }}.");
    const [board] = objects.filter(({ metadata }) => metadata.name === "cupola-dashboard-push");
    expect(JSON.parse(board?.data?.["push.json"] ?? "")).toMatchObject({ title: "Cupola / Push" });
  });

  test("kinds stay at the end of a release unless all data is to go", async () => {
    const policies = async (values: object): Promise<(string | undefined)[]> =>
      (await render(values))
        .filter(({ kind }) => kind === "CustomResourceDefinition")
        .map(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"]);
    const kept = await policies(VALUES);
    expect(new Set(kept)).toEqual(new Set(["keep"]));
    const removed = { ...VALUES, data: { keep: false } };
    expect(new Set(await policies(removed))).toEqual(new Set([undefined]));
    const hooks = (await render(removed)).map(({ metadata }) => metadata.annotations?.["helm.sh/hook"]).filter(Boolean);
    expect(hooks.sort()).toEqual(["post-install,post-upgrade", "pre-delete"]);
  });

  describe("on a real control plane", () => {
    let plane: ControlPlane;
    // A name for each try: an installation is not repeated where a failed try left its own.
    beforeEach(async () => {
      plane = await startControlPlane();
    }, 180_000);
    afterEach(() => plane?.stop());

    const kubectl = (...args: string[]) =>
      runCommand([plane.kubectl, "--kubeconfig", plane.kubeconfig, ...args], { cwd: folder, deadlineMs: 60_000 });
    const must = async (ran: Promise<{ code: number | null; output: string }>): Promise<string> => {
      const { code, output } = await ran;
      expect(code, errorLines(output)).toBe(0);
      return output;
    };

    test("does not install over a kind that is still being deleted, and says so", async () => {
      const crd = join(CHART, "files", "crds", "servicebrokers.cupola.dev.yaml");
      await must(kubectl("create", "-f", crd));
      const finalizers = (names: string[]): string => JSON.stringify({ metadata: { finalizers: names } });
      const patch = (names: string[]): Promise<string> =>
        must(kubectl("patch", "crd", "servicebrokers.cupola.dev", "--type=merge", "-p", finalizers(names)));
      await patch(["example.org/keep"]);
      await must(kubectl("delete", "crd", "servicebrokers.cupola.dev", "--wait=false"));
      const install = () =>
        helm(["install", "cupola", CHART, "--create-namespace", "--no-hooks"], VALUES, plane.kubeconfig);
      const refused = await install();
      expect([refused.code === 0, refused.output]).toEqual([
        false,
        expect.stringContaining(
          "the kind servicebrokers.cupola.dev is still being deleted by an earlier uninstallation",
        ),
      ]);
      await patch([]);
      await must(kubectl("wait", "--for=delete", "crd/servicebrokers.cupola.dev", "--timeout=30s"));
      await must(install());
    }, 120_000);

    // Helm 4 applies on the server, where an edit by hand is a conflict.
    test("an upgrade over a kind that was edited by hand names the conflict, and passes with --force-conflicts", async () => {
      await must(helm(["install", "cupola", CHART, "--create-namespace", "--no-hooks"], VALUES, plane.kubeconfig));
      const edit = JSON.stringify([
        { op: "replace", path: "/spec/versions/0/schema/openAPIV3Schema/description", value: "edited" },
      ]);
      await must(kubectl("patch", "crd", "apps.cupola.dev", "--type=json", "-p", edit));
      const upgrade = (...flags: string[]) =>
        helm(["upgrade", "cupola", CHART, "--no-hooks", ...flags], VALUES, plane.kubeconfig);
      const refused = await upgrade();
      expect([refused.code === 0, refused.output]).toEqual([false, expect.stringContaining("conflict")]);
      await must(upgrade("--force-conflicts"));
      expect(
        await must(
          kubectl(
            "get",
            "crd",
            "apps.cupola.dev",
            "-o",
            "jsonpath={.spec.versions[0].schema.openAPIV3Schema.description}",
          ),
        ),
      ).not.toBe("edited");
    }, 180_000);

    // There is no node, so the hook's Job would wait for ever; its settings are applied as it would.
    test("installs, takes its settings, upgrades without a change, and keeps the kinds", async () => {
      await must(helm(["install", "cupola", CHART, "--create-namespace", "--no-hooks"], VALUES, plane.kubeconfig));
      const settings = (await render(VALUES)).find(
        ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "cupola-settings",
      );
      const generated = readdirSync(join(CHART, "files", "settings"));
      expect(Object.keys(settings?.data ?? {})).toEqual(expect.arrayContaining(generated));
      const file = join(folder, "settings.yaml");
      writeFileSync(file, Object.values(settings?.data ?? {}).join("---\n"));
      // kubectl cannot wait for a kind whose conditions are not written yet.
      await eventually(
        () => must(kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=30s")),
        60_000,
      );
      // A kind may be established before discovery lists it, and before its admission policies are served.
      await eventually(() => must(kubectl("apply", "--server-side", "-f", file)), 60_000);
      const generations = [
        "get",
        "deployments",
        "-n",
        "cupola-system",
        "-o",
        "jsonpath={.items[*].metadata.generation}",
      ];
      const level = ["get", "flowschemas", "cupola-instance-index", "cupola-leases", "-o"];
      await eventually(async () =>
        expect(
          await must(kubectl(...level, `jsonpath={.items[*].status.conditions[?(@.type=="Dangling")].status}`)),
        ).toBe("False False"),
      );
      await must(helm(["upgrade", "cupola", CHART, "--no-hooks"], VALUES, plane.kubeconfig));
      expect(await must(kubectl(...generations))).toBe("1 1 1 1 1 1");
      // The class that is off now has its object still, which must not remain a default that nobody reconciles.
      const runners = { default: "statefulset", deployment: { enabled: false }, statefulset: { enabled: true } };
      await must(helm(["upgrade", "cupola", CHART, "--no-hooks"], { ...VALUES, runners }, plane.kubeconfig));
      const switched = await must(
        kubectl("get", "configmap", "cupola-settings", "-n", "cupola-system", "-o", "jsonpath={.data.settings\\.yaml}"),
      );
      writeFileSync(file, switched);
      await must(kubectl("apply", "--server-side", "-f", file));
      const defaults = [
        "get",
        "backendclasses",
        "-o",
        "jsonpath={range .items[?(@.spec.default==true)]}{.metadata.name} {end}",
      ];
      expect((await must(kubectl(...defaults))).trim().split(" ").sort()).toEqual([
        "cnb",
        "ingress",
        "job",
        "statefulset",
      ]);
      // uninstall takes no values.
      const env = { KUBECONFIG: plane.kubeconfig };
      await must(
        runCommand([binary, "uninstall", "cupola", "-n", "cupola-system", "--no-hooks"], {
          cwd: folder,
          deadlineMs: 60_000,
          env,
        }),
      );
      expect(await must(kubectl("get", "domains.cupola.dev", "-n", "cupola-system", "-o", "name"))).toContain(
        "apps.example.org",
      );
    }, 180_000);
  });
});

/** Without a line for each object that was applied. */
function errorLines(output: string): string {
  return output.replaceAll(/^.* serverside-applied\n/gm, "").slice(-3000);
}

function readDocuments(file: string): Rendered[] {
  return parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS() as Rendered);
}
