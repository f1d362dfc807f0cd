// Keeps the keys of the installation that this process uses: a deleted Secret comes back with the key as it was, and one without a key is named.
import type { Logger } from "pino";
import { LOGIN_KEYS } from "../../api/identity/login-keys.ts";
import { JOB_KEY } from "../../api/jobs/job-key.ts";
import { ROUTE_SERVICE_KEYS } from "../../backends/routers/local/route-service-key.ts";
import { ENV_KEY } from "../../controllers/shared/env-snapshot.ts";
import { SSH_KEY } from "../../crds/ssh-key.ts";
import type { InstallationKey } from "../../crds/installation-key.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { CheckResult } from "../../kube/server/readiness.ts";
import type { Operation } from "./operations.ts";

/** Two requests a minute for each key. */
const INTERVAL_MS = 30_000;

type KeptKey = Pick<InstallationKey, "secretName" | "refresh">;

const INSTALLATION_KEYS: Partial<Record<Operation, readonly KeptKey[]>> = {
  api: [JOB_KEY, LOGIN_KEYS, SSH_KEY],
  controllers: [ENV_KEY],
  "local-router": [ROUTE_SERVICE_KEYS],
  "route-service": [ROUTE_SERVICE_KEYS],
  "ssh-proxy": [SSH_KEY],
};

export interface InstallationKeysOptions {
  client: KubeClient;
  operations: readonly Operation[];
  signal: AbortSignal;
  log: Logger;
  intervalMs?: number;
}

/** Returns the check of readiness. */
export function keepInstallationKeys(options: InstallationKeysOptions): () => CheckResult {
  const { client, operations, signal, log, intervalMs = INTERVAL_MS } = options;
  const keys = operations.flatMap((operation) => INSTALLATION_KEYS[operation] ?? []);
  let problems: string[] = [];
  const refresh = async (key: KeptKey): Promise<string[]> => {
    try {
      await key.refresh(client);
      return [];
    } catch (err) {
      log.debug({ err, secret: key.secretName }, "a key of the installation could not be read");
      return [err instanceof Error ? err.message : String(err)];
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const run = async (): Promise<void> => {
    problems = (await Promise.all(keys.map(refresh))).flat();
    if (!signal.aborted) timer = setTimeout(() => void run(), intervalMs).unref();
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  if (keys.length > 0) void run();
  return () => problems.length === 0 || { degraded: problems.join("; ") };
}
