// The API behind a real Traefik, by the chart's Ingress: it verifies the certificate that the chart makes, whatever the pod's address is.
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Agent, request } from "undici";
import { parseAllDocuments, stringify } from "yaml";
import { createClient } from "../../../kube/client/create-client.ts";
import { runCommand } from "../../../scripts/run-command.ts";
import { provideBinary, whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { startControlPlane, type ControlPlane } from "../../cluster/control-plane.ts";
import { freePort } from "../../cluster/free-port.ts";
import { startGuarded, type GuardedProcess } from "../../cluster/guarded-process.ts";
import { applyTraefikKinds } from "../../cluster/traefik-kinds.ts";
import { eventually } from "../../eventually.ts";

const CHART = join(import.meta.dirname, "..", "..", "..", "deploy", "helm", "cupola");
const HOST = "api.example.org";
/** The kinds that lead requests to the API. */
const KINDS = ["Service", "Ingress", "Secret", "ServersTransport"];

interface Rendered {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
}

/** Address of this machine: kube-apiserver takes no loopback address as an endpoint. */
const address = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
const reason =
  whyNoControlPlane() ?? whyNoBinaries(["helm", "traefik"]) ?? (address ? undefined : "this machine has loopback only");
if (reason) console.log(`the chart behind Traefik: skipped, ${reason}`);

describe.skipIf(reason)("the chart's API behind Traefik", () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-traefik-"));
  let plane: ControlPlane;
  let traefik: GuardedProcess;
  let api: Server;
  let entryPoint: number;

  /** The objects named cupola-api… that lead to it. @param ingress more values of api.ingress */
  async function render(ingress: object): Promise<Rendered[]> {
    const file = join(folder, "values.yaml");
    const values = {
      image: { repository: "registry.example.org/cupola" },
      api: {
        publicUrl: `https://${HOST}`,
        ingress: { enabled: true, className: "traefik", tlsSecretName: "public", ...ingress },
        service: { annotations: { "traefik.ingress.kubernetes.io/service.serversscheme": "https" } },
      },
      apps: { domain: "apps.example.org" },
    };
    writeFileSync(file, stringify(values));
    const helm = await provideBinary("helm");
    const env = { HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
    const { code, output } = await runCommand([helm, "template", "cupola", CHART, "-n", "cupola-system", "-f", file], {
      cwd: folder,
      deadlineMs: 60_000,
      env,
    });
    expect(code, output.slice(-2000)).toBe(0);
    return parseAllDocuments(output)
      .map((document) => document.toJS() as Rendered | null)
      .filter((object) => object !== null)
      .filter(({ kind, metadata }) => KINDS.includes(kind) && metadata.name.startsWith("cupola-api"));
  }

  async function kubectl(...args: string[]): Promise<void> {
    const command: [string, ...string[]] = [plane.kubectl, "--kubeconfig", plane.kubeconfig, ...args];
    const { code, output } = await runCommand(command, { cwd: folder, deadlineMs: 60_000 });
    expect(code, output).toBe(0);
  }
  async function apply(objects: readonly object[]): Promise<void> {
    const file = join(folder, "objects.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    await kubectl("apply", "-f", file);
  }

  beforeAll(async () => {
    plane = await startControlPlane();
    const client = createClient({ server: plane.url, ca: plane.ca, auth: { kind: "token", token: plane.adminToken } });
    await applyTraefikKinds(client).finally(() => client.close());
    await kubectl("create", "namespace", "cupola-system");
    await apply([
      {
        apiVersion: "networking.k8s.io/v1",
        kind: "IngressClass",
        metadata: { name: "traefik" },
        spec: { controller: "traefik.io/ingress-controller" },
      },
    ]);
    entryPoint = await freePort();
    const ca = join(folder, "ca.crt");
    writeFileSync(ca, plane.ca);
    const to = (provider: string) => [
      `--providers.${provider}.endpoint=${plane.url}`,
      `--providers.${provider}.token=${plane.adminToken}`,
      `--providers.${provider}.certAuthFilePath=${ca}`,
    ];
    traefik = startGuarded(
      [
        await provideBinary("traefik"),
        `--entryPoints.websecure.address=127.0.0.1:${entryPoint}`,
        "--entryPoints.websecure.http.tls=true",
        ...[...to("kubernetesIngress"), ...to("kubernetesCRD")],
        "--providers.providersThrottleDuration=100ms",
        "--global.checkNewVersion=false",
        "--global.sendAnonymousUsage=false",
      ],
      { name: "traefik", logFile: join(folder, "traefik.log") },
    );
  }, 600_000);
  afterAll(async () => {
    api?.close();
    await traefik?.kill();
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Serves TLS with a certificate as the API's pods do, and makes it the Service's endpoint. */
  async function startAPI(certificate: Record<string, string>): Promise<void> {
    const [cert, key] = ["tls.crt", "tls.key"].map((name) => Buffer.from(certificate[name] ?? "", "base64"));
    api = createServer({ cert, key }, (asked, response) => response.end(`hello ${asked.headers.host}`));
    await new Promise<void>((resolve) => api.listen(0, address, resolve));
    const { port } = api.address() as AddressInfo;
    await apply([
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: {
          name: "cupola-api",
          namespace: "cupola-system",
          labels: { "kubernetes.io/service-name": "cupola-api" },
        },
        addressType: "IPv4",
        ports: [{ name: "https", port }],
        endpoints: [{ addresses: [address], conditions: { ready: true } }],
      },
    ]);
  }

  async function get(): Promise<{ status: number; text: string }> {
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    const { statusCode, body } = await request(`https://127.0.0.1:${entryPoint}/`, {
      dispatcher,
      headers: { host: HOST },
      signal: AbortSignal.timeout(5000),
    });
    const text = await body.text();
    await dispatcher.close();
    return { status: statusCode, text };
  }

  test("answers with api.ingress.traefik, and 500 with the scheme alone", async () => {
    const plain = await render({});
    const certificate = plain.find(({ kind }) => kind === "Secret")?.data ?? {};
    expect(new X509Certificate(Buffer.from(certificate["tls.crt"] ?? "", "base64")).subjectAltName).toContain(HOST);
    await startAPI(certificate);
    await apply(plain);
    await eventually(
      async () => expect(await get(), traefik.log().slice(-2000)).toMatchObject({ status: 500 }),
      60_000,
    );
    const told = (await render({ traefik: { enabled: true } })).filter(({ kind }) => kind !== "Secret");
    await apply(told);
    await eventually(
      async () => expect(await get(), traefik.log().slice(-2000)).toEqual({ status: 200, text: `hello ${HOST}` }),
      30_000,
    );
  }, 180_000);
});
