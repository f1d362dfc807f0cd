// A platform with an API and controllers, two replicas of the webhook, and certificates that an earlier life left close to their end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { pino } from "pino";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import {
  parseSecretData,
  DEFAULT_CERTIFICATE_LIFETIMES,
  applyRotationStep,
  toSecretData,
  type WebhookCertificates,
  type CertificateLifetimes,
} from "../../../kube/admission/webhook-certificates.ts";
import { Secret, ValidatingWebhookConfiguration } from "../../../kube/api/builtin.ts";
import type { KubeClient, RequestRecord } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { isNotFound } from "../../../kube/client/errors.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import type { Operation } from "../../../platform/operations/operations.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { WEBHOOK_CONFIGURATION, WEBHOOK_SECRET, type WebhookListenOptions } from "../../../platform/webhook-options.ts";
import { freePort } from "../../cluster/free-port.ts";
import { apiAt, type Api } from "../../e2e/support/api.ts";
import { fixtures } from "../api/fixtures.ts";

export interface Endpoint {
  url: string;
  ca: string;
  adminToken: string;
  stop(): Promise<void>;
}

export const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
/** Usual lifetimes; a new authority need not wait for ten minutes. */
export const FAST_TIMING: CertificateLifetimes = { ...DEFAULT_CERTIFICATE_LIFETIMES, trustDelayMs: 4_000 };
export const SECRET = { namespace: SYSTEM_NAMESPACE, name: WEBHOOK_SECRET };
const DAY = 86_400_000;

export interface TestEnv {
  admin: KubeClient;
  api: Api;
  /** Where the two replicas listen. */
  ports: number[];
  /** Successful writes to the Secret and to the configuration, by both replicas, as `METHOD path`. */
  writes: string[];
  startWebhooks(): Promise<void>;
  stopWebhooks(): Promise<void>;
  certificates(): Promise<WebhookCertificates>;
  /** Ends every process of the platform. */
  end(): Promise<void>;
  stop(): Promise<void>;
}

export async function startTestEnv(
  { url, ca, adminToken }: Endpoint,
  operations: Operation[] = ["api", "controllers"],
): Promise<TestEnv> {
  const admin = createClient({
    server: url,
    ca,
    auth: { kind: "token", token: adminToken },
    fieldManager: "kubectl-create",
  });
  await installManifests(admin);
  await applyObjects(admin, fixtures());
  const home = mkdtempSync(join(tmpdir(), "cupola-webhook-"));
  const running: RunningPlatform[] = [];
  const webhooks: RunningPlatform[] = [];
  const writes: string[] = [];
  const ports = [await freePort(), await freePort()];
  const onRequest = ({ method, path, code }: RequestRecord): void => {
    if (method !== "GET" && code < 300 && /cupola-webhook|webhookconfigurations/.test(path))
      writes.push(`${method} ${path.split("?")[0]}`);
  };
  const start = async (operations: Operation[], webhook?: WebhookListenOptions): Promise<RunningPlatform> => {
    const platform = await startPlatform({
      access: { server: url, ca, auth: { kind: "token", token: adminToken } },
      operations,
      data: home,
      listen: { host: "127.0.0.1", port: 0 },
      log,
      onRequest,
      shutdown: { drainMs: 0 },
      ...(webhook && { webhook }),
    });
    (webhook ? webhooks : running).push(platform);
    return platform;
  };
  const main = await start(operations);
  const stopAll = async (platforms: RunningPlatform[]): Promise<void> =>
    void (await Promise.all(platforms.splice(0).map((platform) => platform.stop({ instances: "end" }))));
  const end = async (): Promise<void> => void (await Promise.all([stopAll(webhooks), stopAll(running)]));
  return {
    admin,
    ports,
    writes,
    end,
    api: apiAt(main.url, adminToken),
    startWebhooks: async () =>
      void (await Promise.all(
        ports.map((port) => start(["webhook"], { host: "127.0.0.1", port, lifetimes: FAST_TIMING })),
      )),
    stopWebhooks: () => stopAll(webhooks),
    async certificates() {
      const held = parseSecretData((await admin.get(Secret, SECRET)).data);
      if (!held) throw new Error("the Secret holds no certificates");
      return held;
    },
    async stop() {
      await end();
      await admin.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** State of a platform that was made 250 days ago and renewed its certificate yesterday. */
export async function leaveAgedCertificates(admin: KubeClient): Promise<WebhookCertificates> {
  const at = (days: number) => ({
    now: new Date(Date.now() - days * DAY),
    hosts: ["127.0.0.1"],
    trustedBundle: "",
    lifetimes: DEFAULT_CERTIFICATE_LIFETIMES,
  });
  const aged = await applyRotationStep(
    "renew",
    await applyRotationStep("create", undefined, at(250), "names.cupola.dev"),
    at(1),
    "names.cupola.dev",
  );
  await admin.create(Secret, { metadata: SECRET, type: "Opaque", data: toSecretData(aged) });
  return aged;
}

export async function findConfiguration(admin: KubeClient) {
  try {
    return await admin.get(ValidatingWebhookConfiguration, { name: WEBHOOK_CONFIGURATION });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Shakes hands with a replica, trusting `ca` only; answers the certificate it shows, PEM. @throws Error when it is not trusted */
export function certificateAt(port: number, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, ca, timeout: 5_000 }, () => {
      resolve(socket.getPeerX509Certificate()?.toString() ?? "");
      socket.destroy();
    });
    socket.on("error", reject);
  });
}
