// All controllers and those of both router classes of clusters, with a space: what tests of routers begin with.
import { gatewayRouter } from "../../../backends/routers/gateway/gateway.ts";
import { ingressRouter } from "../../../backends/routers/ingress/ingress.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { applyObjects } from "../../../platform/install.ts";
import { applyApp, makeSpace, startTestEnv, type Endpoint, type TestEnv } from "../controllers/test-env.ts";

export interface RouterEnv {
  testEnv: TestEnv;
  client: TestEnv["client"];
  /** The namespace of the space `dev` of the org `acme`. */
  namespace: string;
  /** The key of an object in that namespace. */
  key(name: string): { namespace: string; name: string };
}

/** Class `ingress` serves apps.example, class `gateway` gw.example. @param apps are created in the space. @param parameters of class `gateway` */
export async function startRouterEnv(
  endpoint: Endpoint,
  apps: readonly string[],
  parameters?: Record<string, string>,
): Promise<RouterEnv> {
  const testEnv = await startTestEnv(endpoint, {
    builder: "builder",
    runner: "runner",
    router: "ingress",
    controllers: [...new Set([...ingressRouter(), ...gatewayRouter()])],
  });
  const { client } = testEnv;
  await applyObjects(client, [
    systemObject(BackendClass, "gateway", { role: "router", ...(parameters && { parameters }) }),
    systemObject(Domain, "gw.example", { name: "gw.example", router: "gateway" }),
  ]);
  const { namespace } = await makeSpace(client, "acme", "dev");
  const key = (name: string): { namespace: string; name: string } => ({ namespace, name });
  for (const name of apps) await applyApp(client, key(name));
  return { testEnv, client, namespace, key };
}
