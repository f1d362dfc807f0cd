// Child process: the local router in front of one app, and beside it the least that a proxy in Node can be.
import { Agent, createServer, request as send } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createMemoryInformers } from "../../../api/access/testing/live-cache.ts";
import { createLocalRouter } from "../../../backends/routers/local/local.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { fixedKeyring } from "../../../backends/routers/local/testing/keyrings.ts";
import { createListener, type Listener } from "../../../kube/server/listener.ts";
import { createTelemetry } from "../../../telemetry/telemetry.ts";
import { childOptions, serveParent } from "../child-process.ts";

export interface RouterProcessOptions {
  host: string;
  appPort: number;
}

const { host, appPort } = childOptions<RouterProcessOptions>();
const memory = createMemoryInformers();
const router = createLocalRouter({
  keyring: fixedKeyring(),
  informers: memory.informers,
  telemetry: createTelemetry(),
});
router.start();
memory.sync();

const destination = { appGUID: "app-guid", app: "bench", processType: "web", port: 8080, protocol: "http1" };
const metadata = { name: "bench", namespace: "bench", uid: "bench", resourceVersion: "2" };
const route = { class: "local", routeGUID: "route", hostname: host, path: "", port: 0, destinations: [destination] };
memory.store(RouteBinding).upsert({ kind: "RouteBinding", metadata, spec: route } as unknown as RouteBinding);
const instance = { index: 0, state: "Running", ready: true, host: "127.0.0.1", guid: "instance" };
const lrp = {
  kind: "LRP",
  metadata,
  spec: { app: { guid: "app-guid", name: "bench" }, processGUID: "app-guid", processType: "web", instances: 1 },
  status: { instances: [{ ...instance, ports: [{ port: 8080, hostPort: appPort }] }] },
};
memory.store(LRP).upsert(lrp as unknown as KubeObject & LRP);

const agent = new Agent({ keepAlive: true });
const bare = createServer((request, response) => {
  const { method, url, headers } = request;
  const upstream = send({ host: "127.0.0.1", port: appPort, method, path: url, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
  });
  request.pipe(upstream);
});

async function listen(server: Listener): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}
const servers = [createListener({ share: 0.2 }, router.handleRequest), bare];
const urls = await Promise.all(servers.map(listen));

serveParent(
  {
    urls: () => urls,
    /** Microseconds of processor time so far. */
    cpu: () => process.cpuUsage().user + process.cpuUsage().system,
  },
  async () => {
    await router.stop();
    agent.destroy();
    for (const server of servers) server.closeAllConnections();
  },
);
