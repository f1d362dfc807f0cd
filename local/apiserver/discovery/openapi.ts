// OpenAPI: v3, one document per group version, and v2, which is the same in one piece and an older form.
import { createHash } from "node:crypto";
import { isMap, type JsonMap } from "../apply/values.ts";
import { builtinSchemas } from "../builtin/schemas.ts";
import type { JsonSchema } from "../types.ts";
import type { Catalogue } from "../registry/catalogue.ts";
import type { ResourceType, VersionType } from "../registry/types.ts";
import { groupsOf } from "./discovery.ts";
import { META, pathsOf, REF, type Operation, type Parameter, type PathItem } from "./operations.ts";

const INFO = { title: "Kubernetes", version: "v1.34.4" };
const LIST_META = `${META}.ListMeta`;

/** `org.example.v1.Kind`, as the published names of CRD schemas are made. */
function schemaName(type: ResourceType, version: VersionType): string {
  if (type.builtin) {
    const found = Object.entries(builtinSchemas()).find(([, schema]) => schema === version.openapi);
    if (found) return found[0];
  }
  return [...type.group.split(".").reverse(), version.version, type.kind].join(".");
}

function listSchema(type: ResourceType, version: VersionType, name: string): JsonSchema {
  return {
    type: "object",
    description: `${type.listKind} is a list of ${type.kind}`,
    required: ["items"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { $ref: REF + LIST_META },
      items: { type: "array", description: `List of ${type.resource}`, items: { $ref: REF + name } },
    },
    "x-kubernetes-group-version-kind": [{ group: type.group, version: version.version, kind: type.listKind }],
  };
}

const OWN_SCHEMAS: Record<string, JsonSchema> = {
  [`${META}.Patch`]: {
    type: "object",
    description: "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body.",
  },
  [LIST_META]: {
    type: "object",
    properties: {
      continue: { type: "string" },
      remainingItemCount: { type: "integer", format: "int64" },
      resourceVersion: { type: "string" },
      selfLink: { type: "string" },
    },
  },
};

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
export function openApiV3(
  catalogue: Catalogue,
  group: string,
  version: string,
): { paths: Record<string, PathItem>; components: { schemas: Record<string, JsonSchema> } } | undefined {
  const paths: Record<string, PathItem> = {};
  const schemas: Record<string, JsonSchema> = { ...OWN_SCHEMAS };
  const types = catalogue
    .list()
    .filter((type) => type.group === group)
    .flatMap((type) => type.versions.filter((v) => v.version === version).map((v) => ({ type, version: v })));
  for (const { type, version: v } of types) {
    const name = schemaName(type, v);
    Object.assign(paths, pathsOf(type, v, name));
    schemas[name] = v.openapi;
    schemas[`${name}List`] = listSchema(type, v, name);
  }
  for (const { gvr, gvk } of catalogue
    .listVirtual()
    .filter((virtual) => virtual.gvr.group === group && virtual.gvr.version === version)) {
    for (const [name, schema] of Object.entries(builtinSchemas())) {
      const gvks = schema["x-kubernetes-group-version-kind"] as
        { group: string; version: string; kind: string }[] | undefined;
      if (gvks?.some((each) => each.group === gvk.group && each.version === gvk.version && each.kind === gvk.kind))
        schemas[name] = schema;
    }
    paths[`/apis/${group}/${version}/${gvr.resource}`] ??= {};
  }
  if (Object.keys(paths).length === 0) return undefined;
  for (const part of [paths, ...Object.values(schemas)]) addReferenced(schemas, part);
  return { openapi: "3.0.0", info: INFO, paths, components: { schemas } } as ReturnType<typeof openApiV3>;
}

/** Changes with the kinds that a group version serves. */
export function hashOf(catalogue: Catalogue, path: string, group: string, version: string): string {
  const marks = catalogue
    .list()
    .filter((type) => type.group === group && !type.builtin)
    .map((type) => type.versions.find((v) => v.version === version)?.openapi);
  return createHash("sha512")
    .update(JSON.stringify([path, marks]))
    .digest("hex")
    .toUpperCase();
}

/** The index: path of a group version to the address of its document, whose hash changes with it. */
export function openApiIndex(catalogue: Catalogue): object {
  const paths: Record<string, object> = {};
  for (const [group, versions] of groupsOf(catalogue)) {
    for (const version of versions) {
      const path = group ? `apis/${group}/${version}` : `api/${version}`;
      paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hashOf(catalogue, path, group, version)}` };
    }
  }
  return { paths };
}

/** Swagger 2.0: all paths and definitions. */
export function openApiV2(catalogue: Catalogue): object {
  const paths: Record<string, object> = {};
  const definitions: Record<string, unknown> = {};
  for (const [group, versions] of groupsOf(catalogue)) {
    for (const version of versions) {
      const document = openApiV3(catalogue, group, version);
      for (const [path, item] of Object.entries(document?.paths ?? {})) paths[path] = toV2Path(item);
      for (const [name, schema] of Object.entries(document?.components.schemas ?? {}))
        definitions[name] ??= toV2Schema(schema);
    }
  }
  const text = JSON.stringify({ paths, definitions }).replaceAll(REF, "#/definitions/");
  return {
    swagger: "2.0",
    info: INFO,
    ...(JSON.parse(text) as object),
    securityDefinitions: {
      BearerToken: { description: "Bearer Token authentication", type: "apiKey", name: "authorization", in: "header" },
    },
    security: [{ BearerToken: [] }],
  };
}

function toV2Path({ parameters, ...operations }: PathItem): object {
  return {
    ...Object.fromEntries(Object.entries(operations).map(([method, one]) => [method, toV2Operation(one)])),
    ...(parameters && { parameters: parameters.map(toV2Parameter) }),
  };
}

const toV2Parameter = ({ schema, ...parameter }: Parameter): object => ({ ...schema, ...parameter });

function toV2Operation({ requestBody, responses, parameters = [], ...rest }: Operation): object {
  const forms = Object.keys(requestBody?.content ?? {});
  const body = requestBody
    ? [
        {
          name: "body",
          in: "body",
          ...(requestBody.required && { required: true }),
          schema: Object.values(requestBody.content)[0]?.schema,
        },
      ]
    : [];
  return {
    ...rest,
    consumes: forms.length > 0 ? forms : ["application/json", "application/yaml"],
    produces: ["application/json", "application/yaml"],
    schemes: ["https"],
    parameters: [...body, ...parameters.map(toV2Parameter)],
    responses: Object.fromEntries(
      Object.entries(responses).map(([code, { description, content }]) => [
        code,
        { description, ...(content && { schema: Object.values(content)[0]?.schema }) },
      ]),
    ),
  };
}

/** Leaves out what version 2 cannot express: defaults, alternatives, and types that are nullable or two at once. */
function toV2Schema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toV2Schema);
  if (!isMap(schema)) return schema;
  const { default: _default, nullable, oneOf: _one, anyOf: _any, not: _not, allOf, ...rest } = schema;
  if (nullable === true || rest["x-kubernetes-int-or-string"] === true) delete rest.type;
  const [only] = Array.isArray(allOf) ? (allOf as unknown[]) : [];
  return Object.fromEntries(
    Object.entries({ ...(isMap(only) ? only : {}), ...rest }).map(([key, value]) => [key, mapped(key, value)]),
  );
}

/** Below `properties` names are fields, not words of the schema. */
function mapped(key: string, value: unknown): unknown {
  if (key === "properties" && isMap(value))
    return Object.fromEntries(Object.entries(value as JsonMap).map(([field, schema]) => [field, toV2Schema(schema)]));
  return ["items", "additionalProperties"].includes(key) ? toV2Schema(value) : value;
}
