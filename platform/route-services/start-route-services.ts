// Starts the operation `route-service`: the proxy of routes with a route service, behind the ingress controllers of a cluster.
import { createKeyring } from "../../backends/routers/local/route-service-key.ts";
import { createRouteServiceProxy } from "../../backends/routers/local/behind-ingress/route-service-proxy.ts";
import { createGuardedConnector } from "../../controllers/shared/osb/broker-agent.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ConfigMap } from "../../kube/api/builtin.ts";
import { startHttpServer } from "../http/http-server.ts";
import type { PlatformContext } from "../platform-context.ts";
import { routeServiceRuleOf } from "./service-addresses.ts";

const CONNECT_MS = 5_000;
/** Requests under way end within this time once the process is told to stop. */
const DRAIN_MS = 20_000;

/** Resolves to the address where it listens. @throws Error when the port is taken */
export async function startRouteServiceOperation(context: PlatformContext): Promise<string> {
  const { client, informers, options, readiness, disposables, log } = context;
  const settings = [informers.ensure(Domain), informers.ensure(ConfigMap, { namespace: SYSTEM_NAMESPACE })];
  disposables.defer(() => settings.forEach((one) => one.release()));
  const proxy = createRouteServiceProxy({
    informers,
    keyring: createKeyring(client),
    connectToService: createGuardedConnector((host) => routeServiceRuleOf(host, informers.read), CONNECT_MS),
  });
  disposables.defer(() => proxy.stop());
  const server = await startHttpServer({
    ...(options.routeServices?.listen ?? { host: "127.0.0.1", port: 0 }),
    takesPlainHTTP: true,
    apps: proxy,
    health: () => readiness.check(),
    onError: (err) => log.warn({ err }, "could not accept a connection or a request for a route service"),
  });
  disposables.defer(() => server.close(options.shutdown?.drainMs ?? DRAIN_MS));
  const isKnown = (): boolean => settings.every(({ store }) => store.synced) && proxy.isReady();
  readiness.addCheck(
    "route-service",
    () => isKnown() || "routes, Services, Domains, settings or keys are not known yet",
  );
  return server.url;
}
