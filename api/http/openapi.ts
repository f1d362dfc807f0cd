// Generates the OpenAPI document from the endpoint table.
import { z } from "zod";
import { errorCatalogue } from "./errors.ts";
import { endpoint, type Endpoint, ok } from "./endpoint.ts";
import type { EndpointPermission } from "../access/required-permission.ts";
import { apiVersion } from "../discovery/discovery.ts";

function parameters(row: Endpoint): object[] {
  const path = [...row.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const query = Object.keys(row.query?.shape ?? {}).map((name) => ({
    name,
    in: "query",
    required: false,
    schema: { type: "string" },
  }));
  return [...path, ...query];
}

const mediaTypes = {
  json: "application/json",
  yaml: "application/x-yaml",
  multipart: "multipart/form-data",
  stream: "application/octet-stream",
};

function requestBody(row: Endpoint): object | undefined {
  const { body, bodyFormat = "json" } = row;
  if (!body && bodyFormat === "json") return undefined;
  const schema = body ? z.toJSONSchema(body, { io: "input", unrepresentable: "any", target: "openapi-3.0" }) : {};
  return { content: { [mediaTypes[bodyFormat]]: { schema } } };
}

/** The Kubernetes permissions of an endpoint, e.g. `update apps/env in cupola.dev`. */
export function describePermission(permission: EndpointPermission): string[] {
  if (typeof permission === "string") return [permission];
  const permissions = "verb" in permission ? [permission] : permission;
  return permissions.map(
    ({ verb, on, subresource }) =>
      `${verb} ${on.plural}${subresource ? `/${subresource}` : ""} in ${on.group || "core"}`,
  );
}

function operation(row: Endpoint): object {
  const anonymous = row.permission === "anonymous";
  return {
    summary: row.summary ?? "",
    ...(anonymous && { security: [] }),
    "x-permission": describePermission(row.permission),
    parameters: parameters(row),
    ...(requestBody(row) && { requestBody: requestBody(row) }),
    responses: { "2XX": { description: "Done" }, default: { $ref: "#/components/responses/Errors" } },
  };
}

export function openApiDocument(endpoints: readonly Endpoint[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const row of endpoints)
    (paths[row.path.replace(/:(\w+)/g, "{$1}")] ??= {})[row.method.toLowerCase()] = operation(row);
  const error = z.object({
    code: z.int(),
    title: z.enum(Object.values(errorCatalogue).map((entry) => entry.title)),
    detail: z.string(),
  });
  return {
    openapi: "3.0.3",
    info: { title: "Cloud Foundry API", version: apiVersion },
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      responses: {
        Errors: {
          description: "One or more errors",
          content: {
            "application/json": {
              schema: z.toJSONSchema(z.object({ errors: z.array(error) }), { target: "openapi-3.0" }),
            },
          },
        },
      },
    },
  };
}

/** Serves the document of `endpoints`, which the first request generates. */
export function openApiEndpoint(endpoints: readonly Endpoint[]): Endpoint {
  let text: string | undefined;
  return endpoint({
    method: "GET",
    path: "/v3/openapi.json",
    permission: "anonymous",
    summary: "Get this OpenAPI document",
    handler: () => ok((text ??= JSON.stringify(openApiDocument(endpoints)))),
  });
}
