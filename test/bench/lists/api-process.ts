// Child process: the API over ten thousand apps in memory, as its watches would have brought them, and beside it the bare Express handler that it is compared with.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { recordLastWrite } from "../../../api/cache/object-times.ts";
import { createMemoryInformers } from "../../../api/access/testing/live-cache.ts";
import { createApi } from "../../../api/server.ts";
import type { ApiDeps } from "../../../api/server.ts";
import { App } from "../../../crds/app/app.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { bareHandler } from "../bare-handler.ts";
import { serveParent } from "../child-process.ts";
import { DEVELOPER, tenThousandApps } from "./objects.ts";

const memory = createMemoryInformers();
const client = {
  review: () => Promise.resolve({ status: { authenticated: true, user: { username: DEVELOPER, groups: [] } } }),
};
const api = createApi({
  client,
  informers: memory.informers,
  telemetry: {},
  blobs: {},
  log: pino({ level: "error" }),
} as unknown as ApiDeps);
memory.sync();
for (const [ref, object] of tenThousandApps()) memory.store(ref).upsert(recordLastWrite(object));

/** The texts of the apps' watch events, and how often each was changed. */
const apps = memory.store(App).list();
let version = 2;
let timer: NodeJS.Timeout | undefined;

/** An app changes, as a watch would bring it: a text that is parsed and stored. */
function changeOne(): void {
  const at = (version * 7919) % apps.length;
  const text = JSON.stringify(apps[at]).replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${++version}"`);
  const changed = JSON.parse(text) as KubeObject & { spec: { state: string } };
  changed.spec.state = version % 2 === 0 ? "Started" : "Stopped";
  memory.store(App).upsert(recordLastWrite(changed) as unknown as App);
}

const bare: { body: string } = { body: "" };
const servers: Server[] = [createServer(api.handler), createServer(bareHandler(() => bare.body))];
for (const server of servers) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const urlOf = (server: Server | undefined): string =>
  `http://127.0.0.1:${(server?.address() as AddressInfo | undefined)?.port}`;

serveParent(
  {
    url: () => urlOf(servers[0]),
    bareUrl: () => urlOf(servers[1]),
    setBareBody: (body: string) => void (bare.body = body),
    /** So many apps change each second from now on, one by one. */
    setChangesPerSecond(count: number) {
      clearInterval(timer);
      if (count > 0) timer = setInterval(changeOne, 1000 / count);
    },
    /** Microseconds of processor time so far. */
    cpu: () => process.cpuUsage().user + process.cpuUsage().system,
  },
  async () => {
    clearInterval(timer);
    for (const server of servers) server.close();
    await api.peers.close();
  },
);
