// Whoever steals the token of any of the chart's ServiceAccounts gets no further than the platform's own work: tried as each, with everything of the chart on.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { runCommand } from "../../../scripts/run-command.ts";
import { provideBinary, whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { applyGatewayAPI } from "../../cluster/gateway-api.ts";
import { findDefinition } from "../../../crds/definitions.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { eventually } from "../../eventually.ts";
import { connect, type Api, type Json } from "../kubernetes/api.ts";
import { listAttacks, listDuties, listReads, type Places } from "../permissions/platform-attempts.ts";
import { listPolicyWrites } from "../permissions/policy-attempts.ts";
import { makeForeignWorkloads } from "../permissions/platform.ts";

const CHART = join(import.meta.dirname, "..", "..", "..", "deploy", "helm", "cupola");
const VALUES = {
  image: { repository: "registry.example.org/cupola" },
  api: { publicUrl: "https://api.example.org" },
  apps: { domain: "apps.example.org" },
  admins: { users: ["alice"] },
  builders: { cnb: { builderImage: "registry.example.org/builder:1" } },
  registry: { prefix: "registry.example.org/apps" },
  runners: { statefulset: { enabled: true } },
  routers: { gateway: { enabled: true, name: "gateway", namespace: "gateways" } },
};
const ACCOUNTS = "/api/v1/namespaces/cupola-system/serviceaccounts";
const PLACES: Places = { org: "acme", space: "acme-dev", theirs: "other-team", lent: "on-loan" };

const reason = whyNoControlPlane() ?? whyNoBinaries(["helm"]);
if (reason) console.log(`stolen tokens: skipped, ${reason}`);

describe.skipIf(reason)("a stolen token of the chart", () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-stolen-"));
  let plane: ControlPlane;
  let connection: ReturnType<typeof connect>;
  let admin: Api;
  const identities = new Map<string, Api>();

  beforeAll(async () => {
    plane = await startControlPlane();
    const client = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
    await applyGatewayAPI(client).finally(() => client.close());
    connection = connect(plane);
    admin = connection.api;
    const file = join(folder, "values.yaml");
    writeFileSync(file, stringify(VALUES));
    const env = {
      KUBECONFIG: plane.kubeconfig,
      HELM_CACHE_HOME: folder,
      HELM_CONFIG_HOME: folder,
      HELM_DATA_HOME: folder,
    };
    const { code, output } = await runCommand(
      [
        await provideBinary("helm"),
        "install",
        "cupola",
        CHART,
        "-n",
        "cupola-system",
        "--create-namespace",
        "--no-hooks",
        "-f",
        file,
      ],
      { cwd: folder, deadlineMs: 120_000, env },
    );
    expect(code, output.slice(-3000)).toBe(0);
    await makeOwnNamespaces();
    await makeForeignWorkloads((path, body) => admin.post(path, body), PLACES);
    const { items } = (await admin.get(`${ACCOUNTS}?labelSelector=app.kubernetes.io/name=cupola`)).body;
    for (const { metadata } of items as Json[]) {
      const { body } = await admin.post(`${ACCOUNTS}/${metadata.name}/token`, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {},
      });
      identities.set(metadata.name, admin.as({ token: body.status.token }));
    }
  }, 900_000);
  afterAll(async () => {
    await connection?.close();
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** As the controllers make them for an org and a space. */
  async function makeOwnNamespaces(): Promise<void> {
    for (const [name, kind] of [
      [PLACES.org, "org"],
      [PLACES.space, "space"],
    ] as const) {
      const labels = { "cupola.dev/namespace": kind, "cupola.dev/owner-uid": `uid-of-${name}` };
      const made = await admin.post("/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name, labels },
      });
      expect(made.status, made.text).toBe(201);
    }
  }

  function attemptsOf(account: string): { what: string; send(as: Api): Promise<{ status: number }> }[] {
    const all = [...listAttacks(PLACES), ...listReads(PLACES)];
    return account === "cupola-policies" ? all : [...all, ...listPolicyWrites()];
  }

  /** Those that pass, as the identity sees it. */
  async function passing(
    as: Api,
    attempts: readonly { what: string; send(as: Api): Promise<{ status: number }> }[],
  ): Promise<string[]> {
    const passed: string[] = [];
    for (const { what, send } of attempts) {
      const { status } = await send(as);
      if (status !== 403) passed.push(`${what}: ${status}`);
    }
    return passed;
  }

  test("does nothing beyond the platform's work, whichever account it is of", async () => {
    expect([...identities.keys()].sort()).toEqual([
      "cupola-api",
      "cupola-controllers",
      "cupola-instance-index",
      "cupola-logs",
      "cupola-policies",
      "cupola-settings",
      "cupola-webhook",
    ]);
    // New policies and roles count a moment after they are there.
    for (const [account, as] of identities)
      await eventually(async () => expect([account, await passing(as, attemptsOf(account))]).toEqual([account, []]));
  }, 180_000);

  test("does that work, where the account is the controllers'", async () => {
    const as = identities.get("cupola-controllers") as Api;
    // Rights on the Secrets of a space come by a binding there, which no controller has made here.
    const duties = listDuties(PLACES).filter(({ what }) => what !== "a Secret of a space");
    await eventually(async () => {
      const refused: string[] = [];
      for (const { what, send } of duties) {
        const { status, body } = await send(as);
        if (status >= 300) refused.push(`${what}: ${status} ${body?.message ?? ""}`);
      }
      expect(refused).toEqual([]);
    });
  });

  test("writes the settings of the chart, where the account is that of its Job", async () => {
    const as = identities.get("cupola-settings") as Api;
    const folderOfSettings = join(CHART, "files", "settings");
    const objects = readdirSync(folderOfSettings)
      .flatMap((file) => parseAllDocuments(readFileSync(join(folderOfSettings, file), "utf8")))
      .map((document) => document.toJS() as Json);
    expect(objects.length).toBeGreaterThan(5);
    await eventually(async () => {
      const refused: string[] = [];
      for (const object of objects) {
        const plural = findDefinition(object.kind ?? "")?.plural ?? "";
        const { namespace, name } = object.metadata;
        const path = `/apis/${object.apiVersion}/${namespace ? `namespaces/${namespace}/` : ""}${plural}/${name}`;
        const { status, text } = await as.patch("apply", `${path}?dryRun=All&fieldManager=settings&force=true`, object);
        if (status >= 300) refused.push(`${object.kind} ${object.metadata.name}: ${status} ${text}`);
      }
      expect(refused).toEqual([]);
    });
  });
});
