// Traefik's own CustomResourceDefinitions, from its Go module: for tests of what the chart tells Traefik.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { CustomResourceDefinition } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { eventually } from "../eventually.ts";
import { downloadModule } from "./go-module.ts";

/** The version of test/cluster/modules/traefik. */
const MODULE = "github.com/traefik/traefik/v3@v3.5.4";
const FILE = "docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml";

/** Applies them and waits until all are served. @throws Error when the module cannot be had */
export async function applyTraefikKinds(client: KubeClient): Promise<void> {
  const definitions = parseAllDocuments(readFileSync(join(downloadModule(MODULE), FILE), "utf8"))
    .map((document) => document.toJS() as (KubeObject & { spec: { names: { plural: string } } }) | null)
    .filter((definition) => definition !== null);
  for (const definition of definitions)
    await client.apply(CustomResourceDefinition, definition, { fieldManager: "test", force: true });
  for (const { spec } of definitions)
    await eventually(() => client.raw("GET", `/apis/traefik.io/v1alpha1/${spec.names.plural}?limit=1`), 20_000);
}
