// The kinds that sequences are about: where they are served, what they may contain, which doors they have.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import type { Json } from "../kubernetes/api.ts";
import { widgetCrd } from "../kubernetes/row.ts";
import * as builtin from "./builtin-content.ts";
import { gadgetCrd } from "./gadget-crd.ts";
import type { Random } from "./random.ts";
import { valueOf } from "./values.ts";

export interface FuzzKind {
  kind: string;
  apiVersion: string;
  plural: string;
  namespaced: boolean;
  builtin: boolean;
  /** How often sequences choose it, against the others. */
  weight: number;
  names: string[];
  /** Everything but apiVersion, kind and metadata. */
  content(random: Random): Json;
  /** The value of `status`; absent where the kind has no such door. */
  status?(random: Random): Json;
  scale?: boolean;
}

const deploy = fileURLToPath(new URL("../../../deploy/helm/cupola/files/crds", import.meta.url));
const own = ["apps", "processes", "routes", "domains", "builds"].map(
  (plural) => parse(readFileSync(join(deploy, `${plural}.cupola.dev.yaml`), "utf8")) as Json,
);

/** To be installed before the first sequence. */
export const definitions: Json[] = [widgetCrd, gadgetCrd, ...own];

interface BuiltinOptions {
  group?: string;
  plural?: string;
  weight?: number;
  status?: FuzzKind["status"];
  scale?: boolean;
  namespaced?: boolean;
}

function builtinKind(
  kind: string,
  content: FuzzKind["content"],
  {
    group = "v1",
    plural = `${kind.toLowerCase()}s`,
    weight = 1,
    status,
    scale,
    namespaced = true,
  }: BuiltinOptions = {},
): FuzzKind {
  return {
    kind,
    apiVersion: group,
    plural,
    namespaced,
    builtin: true,
    weight,
    names: ["a", "b", "c"],
    content,
    ...(status && { status }),
    ...(scale && { scale }),
  };
}

const namesOf: Record<string, string[]> = { Process: ["a.web", "a.worker", "b.web"] };

function customKind({ spec }: Json, weight: number): FuzzKind {
  const [version] = spec.versions;
  const { status, ...properties } = version.schema.openAPIV3Schema.properties;
  for (const field of ["apiVersion", "kind", "metadata"]) delete properties[field];
  const root = { ...version.schema.openAPIV3Schema, properties };
  return {
    kind: spec.names.kind,
    apiVersion: `${spec.group}/${version.name}`,
    plural: spec.names.plural,
    namespaced: spec.scope === "Namespaced",
    builtin: false,
    weight,
    names: namesOf[spec.names.kind] ?? ["a", "b", "c"],
    content: (random) => ({
      ...(random.chance(0.95) && properties.spec && { spec: valueOf(properties.spec, random) }),
      ...Object.fromEntries(Object.entries(valueOf(root, random) as Json).filter(([name]) => name !== "spec")),
    }),
    ...(version.subresources?.status && { status: (random: Random) => valueOf(status, random) as Json }),
    ...(version.subresources?.scale && { scale: true }),
  };
}

export const kinds: FuzzKind[] = [
  customKind(widgetCrd, 5),
  customKind(gadgetCrd, 7),
  ...own.map((definition) => customKind(definition, 1)),
  builtinKind("ConfigMap", builtin.configMap, { weight: 2 }),
  builtinKind("Secret", builtin.secret, { weight: 2 }),
  builtinKind("Service", builtin.service, { weight: 2, status: builtin.serviceStatus }),
  builtinKind("ServiceAccount", builtin.serviceAccount),
  builtinKind("Deployment", builtin.deployment, {
    group: "apps/v1",
    weight: 3,
    status: builtin.deploymentStatus,
    scale: true,
  }),
  builtinKind("Ingress", builtin.ingress, {
    group: "networking.k8s.io/v1",
    plural: "ingresses",
    status: builtin.ingressStatus,
  }),
  builtinKind("Role", builtin.role, { group: "rbac.authorization.k8s.io/v1" }),
  builtinKind("RoleBinding", builtin.roleBinding, { group: "rbac.authorization.k8s.io/v1" }),
  builtinKind("Lease", builtin.lease, { group: "coordination.k8s.io/v1" }),
  builtinKind("Namespace", builtin.namespace, { namespaced: false }),
];

export function kindOf(name: string): FuzzKind {
  const found = kinds.find(({ kind }) => kind === name);
  if (!found) throw new Error(`no kind ${name} in kinds.ts`);
  return found;
}

/** Where the objects of a kind are, for a sequence whose namespace is `ns`. */
export function collectionPath({ apiVersion, namespaced, plural }: FuzzKind, ns: string): string {
  return `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}${namespaced ? `/namespaces/${ns}` : ""}/${plural}`;
}
