// OpenAPI v3, one document per group version, with just the paths that clients look at; v2 as far as old clients need it.
import { createHash } from "node:crypto";
import { builtinSchemas } from "../builtin/schemas.ts";
import type { JsonSchema } from "../contract.ts";
import type { Catalogue } from "../registry/catalogue.ts";
import { patchTypes } from "../registry/patch.ts";
import type { ResourceType, VersionType } from "../registry/types.ts";
import { groupsOf } from "./discovery.ts";

const REF = "#/components/schemas/";
const META = "io.k8s.apimachinery.pkg.apis.meta.v1";

const parameter = (name: string, type = "string") => ({ name, in: "query", schema: { type, uniqueItems: true } });
const WRITE = [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation"), parameter("pretty")];
const LIST = [parameter("allowWatchBookmarks", "boolean"), parameter("continue"), parameter("fieldSelector"), parameter("labelSelector"), parameter("limit", "integer"), parameter("resourceVersion"), parameter("timeoutSeconds", "integer"), parameter("watch", "boolean")];

/** `org.example.v1.Kind`, as the published names of CRD schemas are made. */
function schemaName(type: ResourceType, version: VersionType): string {
  if (type.builtin) {
    const found = Object.entries(builtinSchemas()).find(([, schema]) => schema === version.openapi);
    if (found) return found[0];
  }
  return [...type.group.split(".").reverse(), version.version, type.kind].join(".");
}

function operation(type: ResourceType, version: VersionType, action: string, rest: object): object {
  return {
    tags: [`${type.group}_${version.version}`], "x-kubernetes-action": action, "x-kubernetes-group-version-kind": { group: type.group, version: version.version, kind: type.kind },
    operationId: `${action}${type.group}${version.version}${type.kind}`, responses: { 200: { description: "OK" } }, ...rest,
  };
}

function pathsOf(type: ResourceType, version: VersionType): Record<string, object> {
  const root = type.group ? `/apis/${type.group}/${version.version}` : `/api/${version.version}`;
  const collection = `${root}${type.namespaced ? "/namespaces/{namespace}" : ""}/${type.resource}`;
  const body = { content: { "application/json": { schema: { $ref: REF + schemaName(type, version) } } } };
  const patchBody = { content: Object.fromEntries(patchTypes(type).map((mediaType) => [mediaType, { schema: { $ref: `${REF}${META}.Patch` } }])) };
  const one = {
    get: operation(type, version, "get", { responses: { 200: { description: "OK", ...body } } }),
    put: operation(type, version, "put", { parameters: WRITE, requestBody: body }),
    patch: operation(type, version, "patch", { parameters: [...WRITE, parameter("force", "boolean")], requestBody: patchBody }),
    delete: operation(type, version, "delete", { parameters: [parameter("dryRun"), parameter("propagationPolicy")] }),
  };
  const paths: Record<string, object> = {
    [collection]: { get: operation(type, version, "list", { parameters: LIST }), post: operation(type, version, "post", { parameters: WRITE, requestBody: body }) },
    [`${collection}/{name}`]: one,
  };
  for (const { name } of version.subresources) if (name === "status") paths[`${collection}/{name}/status`] = { get: one.get, put: one.put, patch: one.patch };
  return paths;
}

function addReferenced(into: Record<string, JsonSchema>, value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, entry] of Object.entries(value)) {
    if (key === "$ref" && typeof entry === "string") {
      const name = entry.slice(REF.length);
      const schema = builtinSchemas()[name];
      if (!schema || into[name]) continue;
      into[name] = schema;
      addReferenced(into, schema);
    } else addReferenced(into, entry);
  }
}

/** The OpenAPI v3 document of a group version; undefined when it is not served. */
export function openApiV3(catalogue: Catalogue, group: string, version: string): object | undefined {
  const paths: Record<string, object> = {};
  const schemas: Record<string, JsonSchema> = { [`${META}.Patch`]: { type: "object", description: "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body." } };
  const types = catalogue.list().filter((type) => type.group === group).flatMap((type) => type.versions.filter((v) => v.version === version).map((v) => ({ type, version: v })));
  for (const { type, version: v } of types) {
    Object.assign(paths, pathsOf(type, v));
    schemas[schemaName(type, v)] = v.openapi;
  }
  for (const { gvr, gvk } of catalogue.listVirtual().filter((virtual) => virtual.gvr.group === group && virtual.gvr.version === version)) {
    for (const [name, schema] of Object.entries(builtinSchemas())) {
      const gvks = schema["x-kubernetes-group-version-kind"] as { group: string; version: string; kind: string }[] | undefined;
      if (gvks?.some((each) => each.group === gvk.group && each.version === gvk.version && each.kind === gvk.kind)) schemas[name] = schema;
    }
    paths[`/apis/${group}/${version}/${gvr.resource}`] ??= {};
  }
  if (Object.keys(paths).length === 0) return undefined;
  for (const schema of Object.values(schemas)) addReferenced(schemas, schema);
  return { openapi: "3.0.0", info: { title: "Kubernetes", version: "v1.34.4" }, paths, components: { schemas } };
}

/** The index: path of a group version to the address of its document, whose hash changes with it. */
export function openApiIndex(catalogue: Catalogue): object {
  const paths: Record<string, object> = {};
  for (const [group, versions] of groupsOf(catalogue)) {
    for (const version of versions) {
      const path = group ? `apis/${group}/${version}` : `api/${version}`;
      const marks = catalogue.list().filter((type) => type.group === group && !type.builtin).map((type) => type.versions.find((v) => v.version === version)?.openapi);
      const hash = createHash("sha512").update(JSON.stringify([path, marks])).digest("hex").toUpperCase();
      paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` };
    }
  }
  return { paths };
}

/** Definitions of all kinds in the form of Swagger 2.0. */
export function openApiV2(catalogue: Catalogue): object {
  const definitions: Record<string, unknown> = {};
  for (const [group, versions] of groupsOf(catalogue)) {
    for (const version of versions) {
      const document = openApiV3(catalogue, group, version) as { components?: { schemas?: object } } | undefined;
      Object.assign(definitions, document?.components?.schemas);
    }
  }
  const text = JSON.stringify(definitions).replaceAll(REF, "#/definitions/");
  return { swagger: "2.0", info: { title: "Kubernetes", version: "v1.34.4" }, paths: {}, definitions: JSON.parse(text) as object };
}
