// The kind Build of kpack, from its Go module: for tests that need the kind and not the controller.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { CustomResourceDefinition } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { eventually } from "../eventually.ts";
import { downloadModule } from "./go-module.ts";

/** The pinned version. */
export const KPACK_MODULE = "github.com/pivotal/kpack@v0.17.1";

/** Applies the definition, without its conversion webhook, and waits until the kind is served. @throws Error when the module cannot be had */
export async function applyKpackAPI(client: KubeClient): Promise<void> {
  const file = join(downloadModule(KPACK_MODULE), "config", "build.yaml");
  const { spec, ...definition } = parse(readFileSync(file, "utf8")) as KubeObject & { spec: Record<string, unknown> };
  const { conversion: _needsKpack, ...rest } = spec;
  await client.apply(CustomResourceDefinition, { ...definition, spec: rest }, { fieldManager: "test", force: true });
  await eventually(() => client.raw("GET", "/apis/kpack.io/v1alpha2/builds?limit=1"));
}
