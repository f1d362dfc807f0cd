// The Gateway API's CustomResourceDefinitions, from their Go module: for tests with HTTPRoutes and TCPRoutes.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parse } from "yaml";
import { CustomResourceDefinition } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { downloadModule } from "./go-module.ts";

/** The version that Traefik v3.5.4 is built with. */
const MODULE = "sigs.k8s.io/gateway-api@v1.3.0";
const DEADLINE_MS = 20_000;

/** Kinds of the experimental channel, which Traefik wants all where it is to take TCPRoutes. */
const EXPERIMENTAL = ["tcproutes", "tlsroutes", "backendtlspolicies"].map(
  (plural) => `gateway.networking.k8s.io_${plural}.yaml`,
);

/** Applies the standard channel and TCPRoutes, and waits until its kinds are served. @throws Error when the module cannot be had */
export async function applyGatewayAPI(client: KubeClient): Promise<void> {
  const folder = join(downloadModule(MODULE), "config", "crd");
  const standard = readdirSync(join(folder, "standard"))
    .filter((file) => file.startsWith("gateway.networking.k8s.io_"))
    .map((file) => join("standard", file));
  const definitions = [...standard, ...EXPERIMENTAL.map((file) => join("experimental", file))].map(
    (file) => parse(readFileSync(join(folder, file), "utf8")) as KubeObject,
  );
  for (const definition of definitions)
    await client.apply(CustomResourceDefinition, definition, { fieldManager: "test", force: true });
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    try {
      return void (await client.raw("GET", "/apis/gateway.networking.k8s.io/v1/httproutes?limit=1"));
    } catch (cause) {
      if (Date.now() > deadline) throw new Error("the API server does not serve HTTPRoutes", { cause });
      await delay(50);
    }
  }
}
