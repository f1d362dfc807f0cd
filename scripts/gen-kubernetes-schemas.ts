// Writes local/apiserver/builtin/{schemas,kinds,messages,shapes}.json: what the embedded API server knows of Kubernetes' own kinds.
// Source: the published Go modules k8s.io/{kubernetes,api,apimachinery,apiextensions-apiserver} (Apache-2.0) at the versions below. Run by hand: needs Go.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { goShapes } from "./go-shapes.ts";

const VERSION = "v1.34.4";
/** Version of the modules that hold the protobuf definitions. */
const LIBRARIES = "v0.34.4";
const OUT = join(import.meta.dirname, "../local/apiserver/builtin");

/** Group/version to plural names. Kinds outside this list are not served. */
const SERVED: Record<string, string[]> = {
  "/v1": [
    "namespaces",
    "configmaps",
    "secrets",
    "services",
    "serviceaccounts",
    "events",
    "endpoints",
    "pods",
    "nodes",
    "persistentvolumeclaims",
    "limitranges",
    "resourcequotas",
  ],
  "apps/v1": ["deployments", "replicasets", "statefulsets", "daemonsets"],
  "batch/v1": ["jobs"],
  "networking.k8s.io/v1": ["ingresses", "ingressclasses", "networkpolicies"],
  "policy/v1": ["poddisruptionbudgets"],
  "discovery.k8s.io/v1": ["endpointslices"],
  "events.k8s.io/v1": ["events"],
  "coordination.k8s.io/v1": ["leases"],
  "rbac.authorization.k8s.io/v1": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
  "apiextensions.k8s.io/v1": ["customresourcedefinitions"],
  "admissionregistration.k8s.io/v1": [
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
    "mutatingwebhookconfigurations",
  ],
  "authentication.k8s.io/v1": ["tokenreviews", "selfsubjectreviews"],
  "authorization.k8s.io/v1": [
    "subjectaccessreviews",
    "selfsubjectaccessreviews",
    "selfsubjectrulesreviews",
    "localsubjectaccessreviews",
  ],
};
const SUBRESOURCES = new Set(["status", "scale", "token", "finalize"]);
/** Schemas that no served kind refers to, but clients look up. */
const EXTRA = [
  "io.k8s.api.autoscaling.v1.Scale",
  "io.k8s.api.authentication.v1.TokenRequest",
  "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
];

type Schema = Record<string, unknown>;
interface Discovered {
  resource: string;
  responseKind: { group?: string; version?: string; kind: string };
  scope: string;
  singularResource?: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  subresources?: {
    subresource: string;
    responseKind: { group?: string; version?: string; kind: string };
    verbs: string[];
  }[];
}

function moduleDir(module: string): string {
  const dir = mkdtempSync(join(tmpdir(), "gen-"));
  writeFileSync(join(dir, "go.mod"), "module gen\n");
  const out = execFileSync("go", ["mod", "download", "-json", module], { cwd: dir, encoding: "utf8" });
  return (JSON.parse(out) as { Dir: string }).Dir;
}

function refsOf(value: unknown, found: Set<string>): Set<string> {
  if (Array.isArray(value)) for (const item of value) refsOf(item, found);
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      if (key === "$ref" && typeof item === "string") found.add(item.slice("#/components/schemas/".length));
      else refsOf(item, found);
    }
  }
  return found;
}

function isOf(schema: Schema, group: string, version: string, kind: string): boolean {
  const gvks = (schema["x-kubernetes-group-version-kind"] ?? []) as { group: string; version: string; kind: string }[];
  return gvks.some((gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind);
}

type Message = Record<string, [name: string, type: string]>;

const FIELD = /^ {2}(optional|repeated|map<string, ([\w.]+)>) ?([\w.]*) (\w+) = (\d+);/gm;
const SCALAR = /^(string|bool|bytes|double|float|u?int(32|64))$/;

/** All messages of a .proto file. A type is `string`, a full message name, `[]type`, `map:type` or `*scalar`. */
function readMessages(text: string): Record<string, Message> {
  const pack = /^package ([\w.]+);/m.exec(text)?.[1] ?? "";
  const messages: Record<string, Message> = {};
  for (const [, name = "", body = ""] of text.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    messages[openApiName(`${pack}.${name}`)] = Object.fromEntries(
      [...body.matchAll(FIELD)].map((match) => readField(pack, match)),
    );
  }
  return messages;
}

function readField(
  pack: string,
  [, label, mapType, type = "", field = "", number = ""]: RegExpMatchArray,
): [string, Message[string]] {
  if (mapType) return [number, [field, `map:${qualifiedType(pack, mapType)}`]];
  return [number, [field, (label === "repeated" ? "[]" : "") + qualifiedType(pack, type)]];
}

function qualifiedType(pack: string, dotted: string): string {
  const type = dotted.replace(/^\./, "");
  if (SCALAR.test(type)) return type;
  return openApiName(type.includes(".") ? type : `${pack}.${type}`);
}

/** Marks scalars that Go keeps behind a pointer with `*`: of those zero is a value, of others it is none. */
function withPointers(messages: Record<string, Message>, folder: string): Record<string, Message> {
  const go = readdirSync(folder)
    .filter((name) => /^types.*\.go$/.test(name))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
  for (const [, struct = "", body = ""] of go.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    const pointers = new Set([...body.matchAll(/^\t\w+\s+\*[\w.]+\s+`json:"(\w+)/gm)].map(([, field = ""]) => field));
    const message = Object.entries(messages).find(([name]) => name.endsWith(`.${struct}`))?.[1] ?? {};
    for (const entry of Object.values(message).filter(([field, type]) => pointers.has(field) && SCALAR.test(type)))
      entry[1] = `*${entry[1]}`;
  }
  return messages;
}

/** `k8s.io.api.core.v1.Pod` as OpenAPI names it. */
function openApiName(name: string): string {
  return name
    .replace(/^k8s\.io\./, "io.k8s.")
    .replace("apiextensions_apiserver", "apiextensions-apiserver")
    .replace("kube_aggregator", "kube-aggregator");
}

const toComparable = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, "").toLowerCase();

/** The messages that `roots` reach. Fields that JSON does not know are embedded structs: their name is dropped. */
function reachableMessages(
  all: Record<string, Message>,
  schemas: Record<string, Schema>,
  roots: Iterable<string>,
): Record<string, Message> {
  const out: Record<string, Message> = {};
  const visit = (name: string) => {
    const message = all[name];
    if (!message || out[name]) return;
    const properties = Object.keys((schemas[name]?.properties ?? {}) as object);
    const jsonName = (field: string) =>
      properties.length === 0 || properties.includes(field)
        ? field
        : (properties.find((property) => toComparable(property) === toComparable(field)) ?? "");
    out[name] = Object.fromEntries(
      Object.entries(message).map(([number, [field, type]]) => [number, [jsonName(field), type]]),
    );
    for (const [, type] of Object.values(message)) visit(type.replace(/^(\[\]|map:|\*)/, ""));
  };
  for (const root of roots) visit(root);
  return out;
}

const dir = moduleDir(`k8s.io/kubernetes@${VERSION}`);
const all: Record<string, Schema> = {};
for (const groupVersion of [...Object.keys(SERVED), "autoscaling/v1"]) {
  const name = groupVersion === "/v1" ? "api__v1" : `apis__${groupVersion.replace("/", "__")}`;
  const document = JSON.parse(readFileSync(join(dir, "api/openapi-spec/v3", `${name}_openapi.json`), "utf8")) as {
    components: { schemas: Record<string, Schema> };
  };
  Object.assign(all, document.components.schemas);
}
const discovery = [
  JSON.parse(readFileSync(join(dir, "api/discovery/aggregated_v2.json"), "utf8")) as {
    items: { metadata: { name?: string }; versions: { version: string; resources: Discovered[] }[] }[];
  },
].flatMap((list) => list.items);
// The core group has no aggregated document of its own in that folder.
const core = JSON.parse(readFileSync(join(dir, "api/discovery/api__v1.json"), "utf8")) as {
  resources: {
    name: string;
    kind: string;
    group?: string;
    version?: string;
    namespaced: boolean;
    singularName: string;
    verbs: string[];
    shortNames?: string[];
    categories?: string[];
  }[];
};
const coreResources: Discovered[] = core.resources
  .filter((r) => !r.name.includes("/"))
  .map((r) => ({
    resource: r.name,
    responseKind: { group: "", version: "v1", kind: r.kind },
    scope: r.namespaced ? "Namespaced" : "Cluster",
    singularResource: r.singularName,
    verbs: r.verbs,
    shortNames: r.shortNames,
    categories: r.categories,
    subresources: core.resources
      .filter((s) => s.name.startsWith(`${r.name}/`))
      .map((s) => ({
        subresource: s.name.split("/")[1] ?? "",
        responseKind: { group: s.group ?? "", version: s.version ?? "v1", kind: s.kind },
        verbs: s.verbs,
      })),
  }));

const kinds: unknown[] = [];
const wanted = new Set(EXTRA);
for (const [groupVersion, resources] of Object.entries(SERVED)) {
  const [group = "", version = ""] = groupVersion.split("/");
  const found =
    group === ""
      ? coreResources
      : (discovery.find((item) => item.metadata.name === group)?.versions.find((v) => v.version === version)
          ?.resources ?? []);
  for (const resource of resources) {
    const entry = found.find((candidate) => candidate.resource === resource);
    if (!entry) throw new Error(`${groupVersion} ${resource} is not in the module's discovery documents`);
    const kind = entry.responseKind.kind;
    const schema = Object.entries(all).find(([, candidate]) => isOf(candidate, group, version, kind))?.[0];
    if (!schema) throw new Error(`no schema of ${groupVersion} ${kind}`);
    wanted.add(schema);
    kinds.push({
      group,
      version,
      resource,
      kind,
      schema,
      namespaced: entry.scope === "Namespaced",
      singular: entry.singularResource,
      verbs: entry.verbs,
      shortNames: entry.shortNames,
      categories: entry.categories,
      subresources: (entry.subresources ?? [])
        .filter((s) => SUBRESOURCES.has(s.subresource))
        .map((s) => ({
          name: s.subresource,
          group: s.responseKind.group || group,
          version: s.responseKind.version || version,
          kind: s.responseKind.kind,
          verbs: s.verbs,
        })),
    });
  }
}
for (const name of wanted) for (const ref of refsOf(all[name], new Set())) wanted.add(ref);
const lines = [...wanted].sort().map((name) => `${JSON.stringify(name)}: ${JSON.stringify(all[name])}`);
writeFileSync(join(OUT, "schemas.json"), `{\n${lines.join(",\n")}\n}\n`);
writeFileSync(join(OUT, "kinds.json"), `[\n${kinds.map((kind) => JSON.stringify(kind)).join(",\n")}\n]\n`);

const messages: Record<string, Message> = {};
const apiDir = moduleDir(`k8s.io/api@${LIBRARIES}`);
const machineryDir = moduleDir(`k8s.io/apimachinery@${LIBRARIES}`);
const protos = [
  ...[
    "core",
    "apps",
    "batch",
    "networking",
    "policy",
    "discovery",
    "events",
    "coordination",
    "rbac",
    "admissionregistration",
    "authentication",
    "authorization",
    "autoscaling",
  ].map((group) => join(apiDir, group, "v1/generated.proto")),
  ...["apis/meta/v1", "runtime", "api/resource", "util/intstr"].map((path) =>
    join(machineryDir, "pkg", path, "generated.proto"),
  ),
  join(moduleDir(`k8s.io/apiextensions-apiserver@${LIBRARIES}`), "pkg/apis/apiextensions/v1/generated.proto"),
];
for (const file of protos)
  Object.assign(messages, withPointers(readMessages(readFileSync(file, "utf8")), dirname(file)));
const reachable = reachableMessages(
  messages,
  all,
  [...wanted].filter((name) => "x-kubernetes-group-version-kind" in (all[name] ?? {})),
);
writeFileSync(
  join(OUT, "messages.json"),
  `{\n${Object.entries(reachable)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, message]) => `${JSON.stringify(name)}: ${JSON.stringify(message)}`)
    .join(",\n")}\n}\n`,
);

const shapes = goShapes([
  ...[
    "core",
    "apps",
    "batch",
    "networking",
    "policy",
    "discovery",
    "events",
    "coordination",
    "rbac",
    "admissionregistration",
    "authentication",
    "authorization",
    "autoscaling",
  ].map((group) => ({ dir: join(apiDir, group, "v1"), prefix: `io.k8s.api.${group}.v1` })),
  { dir: join(machineryDir, "pkg/apis/meta/v1"), prefix: "io.k8s.apimachinery.pkg.apis.meta.v1" },
  {
    dir: join(moduleDir(`k8s.io/apiextensions-apiserver@${LIBRARIES}`), "pkg/apis/apiextensions/v1"),
    prefix: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
  },
]);
const shapeLines = [...wanted]
  .sort()
  .filter((name) => shapes[name] && shapes[name].drop.length + shapes[name].keep.length > 0)
  .map((name) => `${JSON.stringify(name)}: ${JSON.stringify(shapes[name])}`);
writeFileSync(join(OUT, "shapes.json"), `{\n${shapeLines.join(",\n")}\n}\n`);
process.stdout.write(`${wanted.size} schemas, ${kinds.length} kinds\n`);
