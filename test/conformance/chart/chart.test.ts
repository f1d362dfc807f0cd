// The Helm chart: what it refuses and in which words, what it renders, and that a real control plane takes all of it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { runCommand } from "../../../scripts/run-command.ts";
import { whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import { CHART, CHECKOUT, operationsOf, rulesOf, useChart, VALUES, type Rendered } from "./chart.ts";

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

describe.skipIf(reason)("the chart", () => {
  const { folder, binary, helm, render } = useChart();

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
    const wrong = await runCommand([binary(), "template", "cupola", CHART, "-n", "elsewhere", "-f", file], {
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

  test("what new pods wait for has priority over apps and preempts none of their pods, unless the values say otherwise", async () => {
    const names = (objects: readonly Rendered[], kind: string): string[] =>
      objects.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name);
    const classes = (objects: readonly Rendered[]): (string | undefined)[] => [
      ...new Set(objects.map(({ spec }) => spec?.template?.spec.priorityClassName).filter(Boolean)),
    ];
    const usual = await render(VALUES);
    expect(classes(usual)).toEqual(["cupola-instance-index"]);
    expect(usual.find(({ kind }) => kind === "PriorityClass")).toMatchObject({
      metadata: { name: "cupola-instance-index" },
      value: 1_000_000_000,
      preemptionPolicy: "Never",
    });
    expect(names(usual, "ResourceQuota")).toEqual([]);
    expect(names(usual, "FlowSchema")).toEqual(["cupola-instance-index", "cupola-leases"]);
    expect(names(usual, "PriorityLevelConfiguration")).toEqual(["cupola-instance-index"]);
    const plain = await render({ ...VALUES, instanceIndex: { priorityClassName: "", apiPriority: false } });
    expect(classes(plain)).toEqual([]);
    for (const kind of ["FlowSchema", "PriorityLevelConfiguration", "PriorityClass", "ResourceQuota"])
      expect(names(plain, kind)).toEqual([]);
    const critical = await render({ ...VALUES, instanceIndex: { priorityClassName: "system-cluster-critical" } });
    expect(classes(critical)).toEqual(["system-cluster-critical"]);
    expect(names(critical, "ResourceQuota")).toEqual(["cupola-instance-index"]);
    expect(names(critical, "PriorityClass")).toEqual([]);
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
        runCommand([binary(), "uninstall", "cupola", "-n", "cupola-system", "--no-hooks"], {
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
