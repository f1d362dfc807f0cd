// The platform with the toy kind: the test loads it when the kind is in the lists. Everything that reads a list is imported here, statically.
import { pino } from "pino";
import { recordOutsideWriters } from "../../../crds/audit-log/outside-writers.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { createWatchAudit, WATCH_AUDIT_KINDS } from "../../../platform/operations/watch-audit.ts";
import { createAuditWriter } from "../../../telemetry/audit/audit-writer.ts";
import { type ApiHarness, startApiHarness } from "../api/harness.ts";
import type { Replica } from "../api/test-env.ts";
export { renewPage } from "../../../scripts/kind-page.ts";
export { Space } from "../../../crds/space/space.ts";
export { Widget } from "./crds/widget.ts";
export { listClusterRoles } from "../../../crds/role-permissions.ts";
export { PLATFORM_NAMESPACES } from "../../../platform/watch-namespaces.ts";

export interface ToyWorld {
  bench: ApiHarness;
  /** Records audit events. */
  replica: Replica;
  stop(): Promise<void>;
}

const log = pino({ level: "silent" });

export async function startToyWorld(): Promise<ToyWorld> {
  const bench = await startApiHarness();
  const { kube } = bench.testEnv;
  const informers = createInformers({ client: kube, log, transform: recordOutsideWriters });
  for (const ref of WATCH_AUDIT_KINDS) informers.ensure(ref);
  if (!(await informers.waitSynced(30_000))) throw new Error("the audit did not see its data in 30 s");
  const abort = new AbortController();
  const ended = createWatchAudit({ informers, log, writer: "leader" }).start(abort.signal, kube);
  const audit = createAuditWriter({ client: kube, writer: "api-0", log, intervalMs: 20 });
  const replica = await bench.testEnv.replica("audited", { audit });
  return {
    bench,
    replica,
    async stop() {
      abort.abort();
      await ended;
      await audit.close();
      await informers.close();
      await bench.testEnv.stop();
    },
  };
}
