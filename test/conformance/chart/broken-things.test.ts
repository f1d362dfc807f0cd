// The table of docs/install.md "When something of it breaks": the chart on a real kube-apiserver, its parts broken one after the other, each named within a minute.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { runCommand } from "../../../scripts/run-command.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { BROKER_CREDENTIALS_SECRET } from "../../../crds/service-broker/credentials.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Org } from "../../../crds/org/org.ts";
import { Route } from "../../../crds/route/route.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { Space } from "../../../crds/space/space.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import { DELETION_TIMES, deleteData } from "../../../platform/delete-data.ts";
import { applyObjects } from "../../../platform/install.ts";
import type { PlatformOptions } from "../../../platform/platform-options.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { provideBinary, whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { freePort } from "../../cluster/free-port.ts";
import { eventually } from "../../eventually.ts";
import { startTestBroker } from "../../service-broker/test-broker.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..", "..");
const MINUTE = 60_000;
const VALUES = {
  image: { repository: "registry.example.org/cupola" },
  api: { publicUrl: "https://api.example.org" },
  apps: { domain: "apps.example.org" },
  registry: { prefix: "registry.example.org/apps", pull: { username: "reader", password: "secret" } },
  builders: { cnb: { builderImage: "registry.example.org/builder:1" } },
};

interface Row {
  /** As the first column of the table has it. */
  broken: string;
  break(): Promise<unknown>;
  /** The place that names it, as the second column has it, and words of its message there. */
  named: readonly string[] | (() => string);
  words: string;
  mend(): Promise<unknown>;
}

interface Definition {
  spec: {
    versions: {
      schema: { openAPIV3Schema: { properties: Record<string, { properties: Record<string, unknown> } | undefined> } };
    }[];
  };
}

const reason = whyNoControlPlane() ?? whyNoBinaries(["helm"]);
if (reason) console.log(`broken things: skipped, ${reason}`);

describe.skipIf(reason)("an installed platform, of which something breaks", () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-broken-"));
  let plane: ControlPlane;
  let admin: KubeClient;
  let registry: Server;
  let platform: RunningPlatform;
  let registryPort = 0;
  let kept = "";
  let api: RunningPlatform;
  /** The uninstallation of the last row, and its log. */
  let deleting: Promise<void> = Promise.resolve();
  const deletionLog: string[] = [];
  let stopOther = (): Promise<void> => Promise.resolve();
  /** Refuses all credentials, as a registry does after its password has changed. */
  let refusesLogin = false;

  beforeAll(async () => {
    plane = await startControlPlane();
    admin = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
    await install();
    registryPort = await freePort();
    await startRegistry();
    platform = await startProcess();
    api = await startProcess({ operations: ["api"], data: join(folder, "api") });
    // Its policies are slow to find the kind of their parameters.
    await eventually(
      () =>
        applyObjects(admin, [
          systemObject(BackendClass, "ingress", { role: "router", default: true }),
          systemObject(Domain, "apps.example.org", { name: "apps.example.org" }),
        ]),
      MINUTE,
    );
    await eventually(() => admin.create(Org, { metadata: { name: "acme" }, spec: {} }));
    await eventually(() => admin.create(Space, { metadata: { namespace: "acme", name: "dev" }, spec: {} }));
    await eventually(() => kubectl("get", "secret", "cupola-registry", "-n", "acme-dev"), MINUTE);
  }, 600_000);
  afterAll(async () => {
    await api?.stop({ instances: "keep" });
    await platform?.stop({ instances: "keep" });
    await admin?.close();
    await plane?.stop();
    await stopRegistry();
    rmSync(folder, { recursive: true, force: true });
  }, MINUTE);

  async function run(command: [string, ...string[]]): Promise<string> {
    const { code, output } = await runCommand(command, {
      cwd: folder,
      deadlineMs: 120_000,
      env: { KUBECONFIG: plane.kubeconfig, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder },
    });
    if (code !== 0) throw new Error(`${command.join(" ")}: ${output.slice(-2000)}`);
    return output;
  }
  const kubectl = (...args: string[]): Promise<string> => run([plane.kubectl, ...args]);

  async function install(): Promise<void> {
    const file = join(folder, "values.yaml");
    writeFileSync(file, stringify(VALUES));
    const chart = join(CHECKOUT, "deploy", "helm", "cupola");
    const settings = join(chart, "files", "settings");
    await run([
      await provideBinary("helm"),
      "install",
      "cupola",
      chart,
      ...["-n", SYSTEM_NAMESPACE, "--create-namespace", "--no-hooks", "-f", file],
    ]);
    // The work of the Job cupola-settings; kube-apiserver is slow to serve new kinds.
    await eventually(() => kubectl("apply", "-f", settings), MINUTE);
  }

  /** The chart's Deployments have no node to run on, so their work is done here, under their ServiceAccounts. */
  async function startProcess(changes: Partial<PlatformOptions> = {}): Promise<RunningPlatform> {
    const operations = changes.operations ?? ["controllers"];
    const token = await kubectl("create", "token", `cupola-${operations[0]}`, "-n", SYSTEM_NAMESPACE);
    const host = `127.0.0.1:${registryPort}`;
    const credentialsFile = join(folder, "docker.json");
    writeFileSync(credentialsFile, JSON.stringify({ auths: { [host]: { username: "writer", password: "secret" } } }));
    return startPlatform({
      access: { server: plane.url, ca: plane.ca, auth: { kind: "token", token: token.trim() } },
      operations,
      data: folder,
      registry: { prefix: { host, path: "apps" }, credentialsFile, insecureHosts: [host] },
      listen: { host: "127.0.0.1", port: 0 },
      publicURL: "https://api.example.org",
      log: pino({ level: process.env["TEST_LOG"] ?? "silent" }),
      shutdown: { drainMs: 0 },
      ...changes,
    });
  }

  async function startRegistry(): Promise<void> {
    registry = createServer((request, response) => {
      const isAllowed = request.headers.authorization !== undefined && !refusesLogin;
      response
        .writeHead(isAllowed ? 200 : 401, isAllowed ? {} : { "www-authenticate": 'Basic realm="registry"' })
        .end();
    });
    await new Promise<void>((resolve) => registry.listen(registryPort, "127.0.0.1", resolve));
  }
  async function stopRegistry(): Promise<void> {
    registry?.closeAllConnections();
    await new Promise((resolve) => (registry ? registry.close(resolve) : resolve(undefined)));
  }

  /** Takes an object away, and keeps it for `restore`. */
  async function remove(kind: string, name: string, ...where: string[]): Promise<void> {
    const { metadata, ...object } = JSON.parse(await kubectl("get", kind, name, ...where, "-o", "json")) as {
      metadata: Record<string, unknown>;
    };
    const { namespace, labels, annotations } = metadata;
    writeFileSync(
      join(folder, "kept.json"),
      JSON.stringify({ ...object, metadata: { name, namespace, labels, annotations } }),
    );
    await kubectl("delete", kind, name, ...where);
  }
  const restore = (): Promise<string> => kubectl("create", "-f", "kept.json");

  const brokerKey = { namespace: SYSTEM_NAMESPACE, name: "away" };
  const routeKey = { namespace: "acme-dev", name: "shop" };
  const instanceKey = { namespace: "acme-dev", name: "db" };
  const replicas = ["replicas", "-n", SYSTEM_NAMESPACE];
  const rows: Row[] = [
    {
      broken: "the Secret `cupola-registry` is deleted",
      break: () => remove("secret", "cupola-registry", "-n", SYSTEM_NAMESPACE),
      named: ["events", "-n", "acme"],
      words: "PullSecretGone",
      mend: restore,
    },
    {
      broken: "the registry refuses the password of `registry.secretName`",
      break: () => Promise.resolve((refusesLogin = true)),
      named: replicas,
      words: "registry: ",
      mend: () => Promise.resolve((refusesLogin = false)),
    },
    {
      broken: "the registry does not answer",
      break: stopRegistry,
      named: replicas,
      words: "registry: ",
      mend: startRegistry,
    },
    {
      broken: "a ClusterRoleBinding of the chart is deleted",
      break: () => remove("clusterrolebinding", "cupola-controllers.controllers"),
      named: replicas,
      words: "run helm upgrade, which restores its roles and bindings",
      mend: restore,
    },
    {
      broken: "a RoleBinding of the chart is deleted",
      break: () => remove("rolebinding", "cupola-controllers.controllers", "-n", SYSTEM_NAMESPACE),
      named: replicas,
      words: "get secrets",
      mend: restore,
    },
    {
      broken: "the RoleBinding of a process with one operation is deleted",
      break: () => remove("rolebinding", "cupola-api.api", "-n", SYSTEM_NAMESPACE),
      named: replicas,
      words: "bindings: no RoleBinding gives anybody the Role cupola-api",
      mend: restore,
    },
    {
      broken: "a ClusterRole of the chart lacks a rule",
      break: async () => {
        await remove("clusterrole", "cupola-controllers");
        const role = JSON.parse(readFileSync(join(folder, "kept.json"), "utf8")) as {
          rules: { resources: string[] }[];
        };
        const rules = role.rules.filter(({ resources }) => !resources.includes("namespaces"));
        writeFileSync(join(folder, "less.json"), JSON.stringify({ ...role, rules }));
        await kubectl("create", "-f", "less.json");
      },
      named: replicas,
      words: "create namespaces",
      mend: () => kubectl("replace", "-f", "kept.json"),
    },
    {
      broken: "a service broker does not answer",
      break: async () => {
        const credentials = { "away.username": "u", "away.password": "p" };
        await kubectl("apply", "-f", writeSecret(credentials));
        await admin.create(ServiceBroker, {
          metadata: brokerKey,
          spec: {
            name: "away",
            url: `http://127.0.0.1:${await freePort()}`,
            credentialsSecretRef: { name: BROKER_CREDENTIALS_SECRET, prefix: "away" },
          },
        });
      },
      named: ["servicebroker", "away", "-n", SYSTEM_NAMESPACE],
      words: '"status":"False","type":"Ready"',
      mend: () => admin.delete(ServiceBroker, brokerKey),
    },
    {
      broken: "the class of a role is missing",
      break: async () => {
        await remove("backendclass", "ingress");
        await admin.create(Route, {
          metadata: routeKey,
          spec: { host: "shop", domainRef: { name: "apps.example.org" } },
        });
      },
      named: ["route", "shop", "-n", "acme-dev"],
      words: "NoDefaultClass",
      mend: restore,
    },
    {
      broken: "an admission policy is deleted",
      break: () => remove("validatingadmissionpolicy", "lifetimes.cupola.dev"),
      named: replicas,
      words: "ValidatingAdmissionPolicy lifetimes.cupola.dev is missing",
      mend: restore,
    },
    {
      broken: "a binding of an admission policy is deleted",
      break: () => remove("validatingadmissionpolicybinding", "lifetimes.cupola.dev"),
      named: replicas,
      words: "ValidatingAdmissionPolicyBinding lifetimes.cupola.dev is missing",
      mend: restore,
    },
    {
      broken: "an admission policy or its binding is changed",
      break: () => patchActions("Warn"),
      named: replicas,
      words: "ValidatingAdmissionPolicyBinding lifetimes.cupola.dev was changed",
      mend: () => patchActions("Deny"),
    },
    {
      broken: "a kind lacks a field, as one of an older version does",
      break: async () => {
        kept = await kubectl("get", "crd", "orgs.cupola.dev", "-o", "json");
        const crd = JSON.parse(kept) as Definition;
        delete crd.spec.versions[0]?.schema.openAPIV3Schema.properties.spec?.properties["suspended"];
        await replaceCrd(crd);
      },
      named: replicas,
      words: "CustomResourceDefinition orgs.cupola.dev was changed or is of another version",
      mend: () => replaceCrd(JSON.parse(kept) as Definition),
    },
    {
      broken: "the certificate of a process has expired",
      break: async () => {
        const from = new Date(Date.now() - 48 * 3_600_000);
        const authority = await makeAuthority("authority", { from, days: 1 });
        const tls = await issueCertificate(authority, { commonName: "localhost" }, { from, days: 1 });
        const other = await startProcess({
          data: join(folder, "other"),
          listen: { host: "127.0.0.1", port: 0, tls },
        });
        stopOther = () => other.stop({ instances: "keep" });
      },
      named: ["replicas", "-n", SYSTEM_NAMESPACE],
      words: "certificate: the certificate expired",
      mend: () => stopOther(),
    },
    {
      broken: "a kind (CustomResourceDefinition) is deleted",
      break: () => remove("crd", "tasks.cupola.dev"),
      named: replicas,
      words: "tasks.cupola.dev NoKind",
      mend: restore,
    },
    {
      broken: "the Secret `cupola-telemetry` has another value: no `token`",
      break: () => patchSecret("cupola-telemetry", { token: null }),
      named: replicas,
      words: "tokens: the Secret cupola-telemetry has no key token",
      mend: () => deleteSecret("cupola-telemetry"),
    },
    ...["cupola-job-key", "cupola-env-key"].map((name) => ({
      broken: `the Secret \`${name}\` has another value: no key of 32 bytes`,
      break: async () => {
        await deleteSecret(name);
        await admin.create(Secret, { metadata: { namespace: SYSTEM_NAMESPACE, name }, data: { key: "c2hvcnQ=" } });
      },
      named: replicas,
      words: `keys: the Secret cupola-system/${name} holds no key of 32 bytes`,
      mend: () => deleteSecret(name),
    })),
    // The last: it deletes the org.
    {
      broken: "a service broker is gone at an uninstallation of the data",
      break: async () => {
        await makeInstanceOfGoneBroker();
        deleting = deleteData(admin, DELETION_TIMES, (line) => deletionLog.push(line));
      },
      named: () => deletionLog.join("\n"),
      words: "still waiting for ServiceInstance acme-dev/db: DeprovisionFailed: ",
      mend: async () => {
        await admin.patch(ServiceInstance, instanceKey, { type: "merge", body: { spec: { purge: true } } });
        await deleting;
      },
    },
  ];

  const deleteSecret = (name: string): Promise<string> => kubectl("delete", "secret", name, "-n", SYSTEM_NAMESPACE);
  const patchSecret = (name: string, data: object): Promise<string> =>
    kubectl("patch", "secret", name, "-n", SYSTEM_NAMESPACE, "--type=merge", "-p", JSON.stringify({ data }));
  async function readSecret(name: string): Promise<{ uid: string; data: Record<string, string> }> {
    const found = await admin.get(Secret, { namespace: SYSTEM_NAMESPACE, name });
    return { uid: found.metadata.uid ?? "", data: found.data ?? {} };
  }

  async function makeInstanceOfGoneBroker(): Promise<void> {
    const broker = await startTestBroker();
    const { username, password } = broker;
    await kubectl("apply", "-f", writeSecret({ "leaving.username": username, "leaving.password": password }));
    await admin.create(ServiceBroker, {
      metadata: { namespace: SYSTEM_NAMESPACE, name: "leaving" },
      spec: {
        name: "leaving",
        url: broker.url,
        credentialsSecretRef: { name: BROKER_CREDENTIALS_SECRET, prefix: "leaving" },
      },
    });
    const plan = await eventually(async () => {
      const { items } = await admin.list(ServicePlan, { namespace: SYSTEM_NAMESPACE });
      return items.find(({ spec }) => spec.name === "small") ?? expect.unreachable("no plan yet");
    }, MINUTE);
    // A new plan is nobody's until an admin says whose.
    const visibility = { type: "merge", body: { spec: { visibility: { type: "public" } } } } as const;
    await admin.patch(ServicePlan, plan.metadata, visibility);
    await admin.create(ServiceInstance, {
      metadata: instanceKey,
      spec: { name: "db", type: "managed", planRef: { namespace: SYSTEM_NAMESPACE, name: plan.metadata.name } },
    });
    await eventually(async () => {
      const { status } = await admin.get(ServiceInstance, instanceKey);
      expect(status).toMatchObject({ lastOperation: { type: "create", state: "succeeded" } });
    }, MINUTE);
    await broker.close();
  }

  const patchActions = (action: string): Promise<string> =>
    kubectl(
      ...["patch", "validatingadmissionpolicybinding", "lifetimes.cupola.dev", "--type=merge"],
      ...["-p", JSON.stringify({ spec: { validationActions: [action] } })],
    );
  async function replaceCrd({ spec }: Definition): Promise<void> {
    const patch = JSON.stringify([{ op: "replace", path: "/spec", value: spec }]);
    await kubectl("patch", "crd", "orgs.cupola.dev", "--type=json", "-p", patch);
  }

  function writeSecret(stringData: Record<string, string>): string {
    const file = join(folder, "secret.json");
    const metadata = { namespace: SYSTEM_NAMESPACE, name: BROKER_CREDENTIALS_SECRET };
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata, stringData }));
    return file;
  }

  const seen = async ({ named }: Row): Promise<string> =>
    typeof named === "function" ? named() : JSON.stringify(JSON.parse(await kubectl("get", ...named, "-o", "json")));

  const healed = ["cupola-telemetry", "cupola-job-key", "cupola-env-key"].map((name) => ({
    broken: `the Secret \`${name}\` is deleted`,
    name,
  }));
  test.each(healed)(
    "$broken, and is made again",
    async ({ name }) => {
      const before = await eventually(() => readSecret(name), MINUTE);
      await deleteSecret(name);
      const after = await eventually(() => readSecret(name), MINUTE);
      expect(after.uid).not.toBe(before.uid);
      // Tokens may change, since all processes follow; whatever a key has signed stays valid.
      if (name === "cupola-telemetry") expect(after.data["token"]).toBeTruthy();
      else expect(after.data).toEqual(before.data);
    },
    MINUTE * 2,
  );

  test.each(rows)(
    "$broken",
    async (row) => {
      expect(await seen(row).catch(() => "")).not.toContain(row.words);
      await row.break();
      await eventually(async () => expect(await seen(row)).toContain(row.words), MINUTE);
      await row.mend();
      if (row.named === replicas)
        await eventually(async () => expect(await seen(row)).not.toContain(row.words), 2 * MINUTE);
    },
    240_000,
  );

  test("the table of docs/install.md has these rows", () => {
    const page = readFileSync(join(CHECKOUT, "docs", "install.md"), "utf8");
    expect(
      [...rows, ...healed].map(({ broken }) => broken).filter((broken) => !page.includes(`| ${broken} |`)),
    ).toEqual([]);
  });
});
