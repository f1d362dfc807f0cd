// Starts the DNS server of the operation `internal-dns`.
import { startDNSServer } from "../../backends/routers/internal-dns/dns-server.ts";
import { watchNames } from "../../backends/routers/internal-dns/internal-dns.ts";
import { resolve } from "../../backends/routers/internal-dns/resolve.ts";
import { createErrorLog } from "./error-log.ts";
import type { PlatformContext } from "../platform-context.ts";

/** Resolves to the port where it listens. @throws Error when the port is taken */
export async function startInternalDNS({
  options,
  informers,
  readiness,
  disposables,
  log,
}: PlatformContext): Promise<number> {
  const names = watchNames(informers);
  disposables.defer(() => names.release());
  readiness.addCheck("internal-dns", () => names.isSynced() || "caches not synced");
  let turn = 0;
  const server = await startDNSServer({
    ...(options.internalDNS ?? { host: "127.0.0.1", port: 0 }),
    answer: (question) => resolve(question, names, turn++),
    onError: createErrorLog(log, () => performance.now()),
  });
  disposables.defer(() => server.close());
  return server.port;
}
