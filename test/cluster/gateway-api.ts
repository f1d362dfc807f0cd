// The Gateway API's CustomResourceDefinitions, from their Go module: for tests with HTTPRoutes.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parse } from "yaml";
import { CustomResourceDefinition } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/api/object.ts";

/** The version that Traefik v3.5.4 is built with. */
const MODULE = "sigs.k8s.io/gateway-api@v1.3.0";
const DEADLINE_MS = 20_000;

/** Applies the standard channel and waits until its kinds are served. @throws Error when the module cannot be had */
export async function applyGatewayAPI(client: KubeClient): Promise<void> {
  const folder = join(moduleFolder(), "config", "crd", "standard");
  const definitions = readdirSync(folder)
    .filter((file) => file.startsWith("gateway.networking.k8s.io_"))
    .map((file) => parse(readFileSync(join(folder, file), "utf8")) as KubeObject);
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

function moduleFolder(): string {
  const { stdout, stderr } = spawnSync("go", ["mod", "download", "-json", MODULE], {
    encoding: "utf8",
    timeout: 120_000,
    env: { ...process.env, GOFLAGS: "-mod=mod", GO111MODULE: "on" },
  });
  const { Dir, Error: problem } = JSON.parse(stdout || "{}") as { Dir?: string; Error?: string };
  if (!Dir) throw new Error(`go mod download ${MODULE}: ${problem ?? stderr}`);
  return Dir;
}
