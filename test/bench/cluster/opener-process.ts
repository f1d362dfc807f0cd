// Child process: the controller that opens gates, alone, on an API server that costs nothing (`opener.ts`).
import { pino } from "pino";
import { createInstanceIndex } from "../../../backends/runners/deployment/instance-index/instance-index.ts";
import { CONTROLLER_SETTINGS } from "../../../platform/operations/controller-settings.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { runControllers } from "../../../kube/controller/run-controllers.ts";
import { childOptions, serveParent } from "../child-process.ts";

const client = createClient({ server: childOptions<{ url: string }>().url, auth: { kind: "token", token: "x" } });
const log = pino({ level: "error" });
const informers = createInformers({ client, log });
const abort = new AbortController();
const work = createInstanceIndex(client);
const run = runControllers({
  client,
  controllers: work.controllers,
  informers,
  ownership: CONTROLLER_SETTINGS,
  signal: abort.signal,
  log,
});

serveParent(
  {
    synced: () => run.synced,
    /** Microseconds of processor time so far. */
    cpu: () => process.cpuUsage().user + process.cpuUsage().system,
  },
  async () => {
    abort.abort();
    await run.stopped;
    await informers.close();
    await client.close();
  },
);
