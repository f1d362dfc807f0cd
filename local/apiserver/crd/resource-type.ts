// From a CustomResourceDefinition to the resource type that the registry serves.
import type { KubeObject } from "../../../kube/api/object.ts";
import { isMap, isUnreadableTime, type JsonMap } from "../apply/values.ts";
import { keepAllBut, restore } from "../builtin/kinds.ts";
import { dropZeros } from "../builtin/canonical.ts";
import { cleanTyped, dropEmptyMetadata } from "../builtin/decode.ts";
import { TypeFault } from "../builtin/type-fault.ts";
import { builtinView, OBJECT_META, viewOfSchema } from "../builtin/schemas.ts";
import type { CompiledSchema, JsonSchema, ValidateOptions } from "../types.ts";
import { invalidValue } from "../field-errors.ts";
import { badRequest } from "../status.ts";
import { compileSchema } from "../schema/compile.ts";
import { since } from "../registry/age.ts";
import { apiVersionOf } from "../registry/convert.ts";
import { subdomainName } from "../registry/names.ts";
import type { Column, ResourceType, ScalePaths, Strategy, Subresource, VersionType } from "../registry/types.ts";
import { findAll, parseJsonPath } from "./json-path.ts";
import { scaleFaults } from "./scale-rules.ts";
import type { Crd, CrdVersion } from "./types.ts";

const VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const OPEN: JsonSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** The order of versions: stable first, then beta, alpha; higher numbers first. */
export function byPriority(a: string, b: string): number {
  const rank = (text: string): number[] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(text);
    if (!match) return [0, 0, 0];
    return [match[2] === undefined ? 3 : match[2] === "beta" ? 2 : 1, Number(match[1]), Number(match[3] ?? 0)];
  };
  const left = rank(a);
  const right = rank(b);
  for (let i = 0; i < 3; i++) if (left[i] !== right[i]) return (right[i] ?? 0) - (left[i] ?? 0);
  return a < b ? -1 : 1;
}

/** The whole object's schema, with the fields every object has. */
export function rootSchema(crd: Crd, version: CrdVersion): JsonSchema {
  const own = version.schema?.openAPIV3Schema ?? OPEN;
  const common = builtinView("io.k8s.api.core.v1.ConfigMap").schema.properties as JsonMap;
  return {
    ...own,
    properties: {
      ...(own.properties as object),
      apiVersion: common.apiVersion,
      kind: common.kind,
      metadata: common.metadata,
    },
    "x-kubernetes-group-version-kind": [{ group: crd.spec.group, version: version.name, kind: crd.spec.names.kind }],
  };
}

function columnsOf(version: CrdVersion): Column[] {
  const name: Column = {
    name: "Name",
    type: "string",
    format: "name",
    description: "Name must be unique within a namespace.",
    priority: 0,
    cell: (object) => object.metadata.name,
  };
  const declared = version.additionalPrinterColumns ?? [
    {
      name: "Age",
      type: "date",
      jsonPath: ".metadata.creationTimestamp",
      description: "CreationTimestamp is a timestamp representing the server time when this object was created.",
    },
  ];
  return [
    name,
    ...declared.map((column): Column => {
      const path = parseJsonPath(column.jsonPath) ?? [];
      return {
        name: column.name,
        type: column.type,
        format: column.format ?? "",
        description: column.description ?? `Custom resource definition column (in JSONPath format): ${column.jsonPath}`,
        priority: column.priority ?? 0,
        cell: (object) => cellOf(column.type, findAll(path, object)),
      };
    }),
  ];
}

function cellOf(type: string, values: unknown[]): unknown {
  if (values.length === 0) return type === "date" ? "<unknown>" : null;
  const first = values[0];
  if (type === "date") return since(first, Date.now());
  if (type === "string")
    return values
      .map((value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)))
      .join(",");
  if (type === "integer") return typeof first === "number" ? Math.trunc(first) : null;
  if (type === "number") return typeof first === "number" ? first : null;
  return typeof first === "boolean" ? first : null;
}

const fieldsOfPath = (text: string) => text.split(".").filter((part) => part !== "");

function subresourcesOf(crd: Crd, version: CrdVersion): { list: Subresource[]; scale?: ScalePaths } {
  const list: Subresource[] = [];
  const verbs = ["get", "patch", "update"];
  if (version.subresources?.status)
    list.push({
      name: "status",
      gvk: { group: crd.spec.group, version: version.name, kind: crd.spec.names.kind },
      verbs,
    });
  const scale = version.subresources?.scale;
  if (!scale) return { list };
  list.push({ name: "scale", gvk: { group: "autoscaling", version: "v1", kind: "Scale" }, verbs });
  return {
    list,
    scale: {
      specReplicas: fieldsOfPath(scale.specReplicasPath),
      statusReplicas: fieldsOfPath(scale.statusReplicasPath),
      ...(scale.labelSelectorPath && { selector: fieldsOfPath(scale.labelSelectorPath) }),
    },
  };
}

function versionType(crd: Crd, version: CrdVersion): VersionType {
  const openapi = rootSchema(crd, version);
  const { list, scale } = subresourcesOf(crd, version);
  const warning =
    version.deprecationWarning ?? `${crd.spec.group}/${version.name} ${crd.spec.names.kind} is deprecated`;
  return {
    version: version.name,
    view: viewOfSchema(openapi),
    openapi,
    subresources: list,
    ...(scale && { scale }),
    columns: columnsOf(version),
    ...(version.deprecated && { deprecationWarning: warning }),
  };
}

function versionNamed(crd: Crd, apiVersion: string): CrdVersion {
  return (
    crd.spec.versions.find(({ name }) => apiVersionOf(crd.spec.group, name) === apiVersion) ?? {
      name: "",
      served: false,
      storage: false,
    }
  );
}

/** The faults of an object of another kind: only those of embedded objects, lists and rules are reported with it. */
function validateOptions(crd: Crd, object: KubeObject, subresource: string): ValidateOptions {
  const { kind } = crd.spec.names;
  if (object.kind !== kind) return { skipValues: true, before: [invalidValue("kind", object.kind, `must be ${kind}`)] };
  const { scale } = subresourcesOf(crd, versionNamed(crd, object.apiVersion));
  const onlyStatus = subresource === "status";
  return { onlyStatus, before: scale ? scaleFaults(object, scale, onlyStatus) : [] };
}

function withoutHead(object: KubeObject, hasStatus: boolean): unknown {
  const { metadata: _metadata, apiVersion: _apiVersion, kind: _kind, status, ...rest } = object;
  return hasStatus ? rest : { ...rest, status };
}

/** Compiled when first needed: a start with many CRDs does not wait for them. */
function schemasOf(crd: Crd): (apiVersion: string) => CompiledSchema {
  const compiled = new Map<string, CompiledSchema>();
  return (apiVersion) => {
    let found = compiled.get(apiVersion);
    if (!found)
      compiled.set(apiVersion, (found = compileSchema(versionNamed(crd, apiVersion).schema?.openAPIV3Schema ?? OPEN)));
    return found;
  };
}

function versionsWithStatus({ spec: { group, versions } }: Crd): Set<string> {
  const withStatus = versions.filter((version) => version.subresources?.status !== undefined);
  return new Set(withStatus.map((version) => apiVersionOf(group, version.name)));
}

function resetStatus(object: KubeObject, schema: CompiledSchema): void {
  delete object.status;
  schema.applyStatusDefault(object);
}

function strategyOf(crd: Crd): Strategy {
  const schemaOf = schemasOf(crd);
  const withStatus = versionsWithStatus(crd);
  const hasStatus = (object: KubeObject) => withStatus.has(object.apiVersion);
  return {
    decode(body, { version }) {
      const kind = crd.spec.names.kind;
      const faults = decodeMetadata(body, kind, version);
      // The fields of another kind are unknown; the rules refuse the object.
      if (body.kind !== kind) return { object: body, faults };
      const schema = schemaOf(body.apiVersion);
      faults.push(...asBadRequest(kind, version, () => schema.prune(body)).map((path) => `unknown field "${path}"`));
      schema.applyDefaults(body);
      return { object: body, faults };
    },
    decodeApplied(body, version) {
      const faults = decodeMetadata(dropUnreadableTimes(body), crd.spec.names.kind, version.version);
      const schema = schemaOf(body.apiVersion);
      schema.cleanApplied(body);
      schema.applyDefaults(body);
      return { object: body, faults };
    },
    settleApplied: (object) => schemaOf(object.apiVersion).withoutNulls(object),
    prepareCreate: (object) => hasStatus(object) && resetStatus(object, schemaOf(object.apiVersion)),
    prepareUpdate(object, old, subresource) {
      if (subresource === "status") keepAllBut(object, old, "status");
      else if (hasStatus(object)) restore(object, old, "status");
    },
    validate: (object, old, subresource, metadata) =>
      schemaOf(object.apiVersion).validate(object, old, {
        ...validateOptions(crd, object, subresource),
        known: metadata,
      }),
    validateName: subdomainName,
    generationOf: (object) => withoutHead(object, hasStatus(object)),
    unconditionalUpdate: false,
  };
}

/** kube-apiserver never decodes an applied custom object as a whole, so an invalid time counts as absent. */
function dropUnreadableTimes(body: KubeObject): KubeObject {
  const metadata: unknown = body.metadata;
  if (isMap(metadata))
    for (const key of ["creationTimestamp", "deletionTimestamp"])
      if (isUnreadableTime(metadata[key])) delete metadata[key];
  return body;
}

function decodeMetadata(body: KubeObject, kind: string, version: string): string[] {
  body.metadata ??= {} as KubeObject["metadata"];
  if (!isMap(body.metadata))
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: json: cannot unmarshal into Go struct field .metadata of type v1.ObjectMeta`,
    );
  return asBadRequest(kind, version, () => {
    const view = builtinView(OBJECT_META);
    const metadata = body.metadata as unknown as JsonMap;
    const faults = cleanTyped(view, metadata, "metadata");
    dropZeros(view, view.name, metadata, "metadata");
    dropEmptyMetadata(body);
    // An empty list is a request to reset for built-in kinds alone.
    if (body.metadata.managedFields?.length === 0) delete body.metadata.managedFields;
    return faults;
  });
}

function asBadRequest<T>(kind: string, version: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeFault)
      throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`);
    throw error;
  }
}

/** @returns undefined while no version is served. */
export function toResourceType(crd: Crd): ResourceType | undefined {
  const { group, names, scope, versions } = crd.spec;
  const served = versions.filter((version) => version.served).sort((a, b) => byPriority(a.name, b.name));
  const storage = versions.find((version) => version.storage);
  if (served.length === 0 || !storage) return undefined;
  const selectable = [
    ...new Set(versions.flatMap((version) => version.selectableFields?.map(({ jsonPath }) => jsonPath) ?? [])),
  ];
  return {
    group,
    resource: names.plural,
    singular: names.singular,
    kind: names.kind,
    listKind: names.listKind,
    namespaced: scope === "Namespaced",
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    verbs: VERBS,
    storageKey: `${group}/${names.plural}`,
    storageVersion: storage.name,
    versions: served.map((version) => versionType(crd, version)),
    strategy: strategyOf(crd),
    builtin: false,
    returnsDeleted: false,
    selectableFields: Object.fromEntries(
      selectable.map((path) => [
        path.replace(/^\./, ""),
        (object: KubeObject) => String(findAll(parseJsonPath(path) ?? [], object)[0] ?? ""),
      ]),
    ),
  };
}
