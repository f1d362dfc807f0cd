// Generates the OpenAPI document from the endpoint table and the schemas of answers.
import { z } from "zod";
import { endpoint, ok, type Endpoint } from "../routing/endpoint.ts";
import { errorCatalogue } from "../http/errors.ts";
import { API_VERSION } from "./api-version.ts";
import { describePermission } from "./permission.ts";
import { type Response, type ResponseBody, responsesOf } from "./responses.ts";
import { components } from "./schema-parts.ts";

type Json = Record<string, unknown>;

/** Where a JSON schema is less for clients: formats say what long patterns say, and answers may gain members. */
function forClients({ jsonSchema }: { jsonSchema: Json }): void {
  delete jsonSchema["$id"];
  if (jsonSchema["format"] !== undefined) delete jsonSchema["pattern"];
  if (jsonSchema["maximum"] === Number.MAX_SAFE_INTEGER) delete jsonSchema["maximum"];
  if (jsonSchema["minimum"] === Number.MIN_SAFE_INTEGER) delete jsonSchema["minimum"];
}

const asOpenAPI = { target: "openapi-3.0", io: "input", unrepresentable: "any" } as const;

const refOf = (id: string): string => `#/components/schemas/${id}`;

/** The JSON schema of an input, without references. */
function inputSchema(schema: z.ZodType): Json {
  return z.toJSONSchema(schema, { ...asOpenAPI, override: forClients as never }) as Json;
}

function answerSchemas(): Record<string, Json> {
  const { schemas } = z.toJSONSchema(components, {
    ...asOpenAPI,
    uri: refOf,
    override: (({ jsonSchema }: { jsonSchema: Json }) => {
      forClients({ jsonSchema });
      if (jsonSchema["additionalProperties"] === false) delete jsonSchema["additionalProperties"];
    }) as never,
  });
  for (const schema of Object.values(schemas)) delete schema.$id;
  return schemas as Record<string, Json>;
}

function answerSchema(schema: z.ZodType): Json {
  const id = components.get(schema)?.id;
  if (id !== undefined) return { $ref: refOf(id) };
  return schema instanceof z.ZodArray ? { type: "array", items: answerSchema(schema.element as z.ZodType) } : {};
}

/** Queries are text to the API, so their schemas say in `query` what a client sees: integers, lists. */
function queryParameter(name: string, schema: z.ZodType): Json {
  const { query, default: _default, ...plain } = inputSchema(schema);
  const visible = (query as Json | undefined) ?? plain;
  return {
    name,
    in: "query",
    required: !schema.safeParse(undefined).success,
    ...(visible["type"] === "array" && { style: "form", explode: false }),
    schema: visible,
  };
}

function parameters(row: Endpoint): object[] {
  const path = [...row.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const query = Object.entries(row.query?.shape ?? {}).map(([name, schema]) =>
    queryParameter(name, schema as z.ZodType),
  );
  return [...path, ...query];
}

const mediaTypes = {
  json: "application/json",
  yaml: "application/x-yaml",
  form: "application/x-www-form-urlencoded",
  multipart: "multipart/form-data",
  stream: "application/octet-stream",
};

/** Only packages may name resources that the platform has already. */
function uploadForm(path: string): object {
  const bits = { type: "string", format: "binary" };
  return {
    type: "object",
    properties: { bits, ...(path.startsWith("/v3/packages/") && { resources: { type: "string" } }) },
  };
}

function requestBody(row: Endpoint): object | undefined {
  const { body, bodyFormat = "json" } = row;
  if (!body && bodyFormat === "json") return undefined;
  const schema = body ? inputSchema(body) : bodyFormat === "multipart" ? uploadForm(row.path) : {};
  return { content: { [mediaTypes[bodyFormat]]: { schema } } };
}

const bytes = { type: "string", format: "binary" };

function content(body: ResponseBody): object | undefined {
  if (typeof body !== "string") return { "application/json": { schema: answerSchema(body) } };
  if (body === "yaml") return { "application/x-yaml": { schema: { type: "string" } } };
  if (body === "text") return { "text/plain": { schema: { type: "string" } } };
  if (body === "zip") return { "application/zip": { schema: bytes } };
  return body === "gzip" ? { "application/gzip": { schema: bytes } } : undefined;
}

const location = { description: "Where the job is polled", required: true, schema: { type: "string", format: "uri" } };

function success([status, body]: Response): [string, object] {
  return [
    String(status),
    {
      description: body === "job" ? "Under way: poll the job" : "Done",
      ...(body === "job" && { headers: { Location: location } }),
      ...(content(body) && { content: content(body) }),
    },
  ];
}

const errors = { $ref: "#/components/responses/Errors" };

/** The statuses of errors that an endpoint's row makes possible. */
function errorStatuses(row: Endpoint): string[] {
  const isOpen = row.permission === "anonymous";
  return [
    ...(row.query || row.bodyFormat ? ["400"] : []),
    ...(isOpen ? [] : ["401"]),
    ...(isOpen || row.method === "GET" ? [] : ["403"]),
    ...(row.path.includes(":") ? ["404"] : []),
    ...(row.method === "GET" ? [] : ["422"]),
  ];
}

/** `getAppsByGuidEnv` for `GET /v3/apps/:guid/env`; outside of /v3 `getRootUsers` for `GET /Users`. */
function operationID({ method, path }: Endpoint): string {
  const words = path
    .replace(/^\/v3(?=\/)/, "")
    .split(/[/._]/)
    .filter(Boolean)
    .map((word) => (word.startsWith(":") ? `By${capital(word.slice(1))}` : capital(word)));
  return method.toLowerCase() + (path.startsWith("/v3") ? "" : "Root") + words.join("");
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Default requirements of an endpoint. */
const SECURITY = [{ bearer: [] }];

function operation(row: Endpoint): object {
  const body = requestBody(row);
  return {
    operationId: operationID(row),
    tags: [/^\/v3\/([^/:.]+)/.exec(row.path)?.[1] ?? "entrance"],
    summary: row.summary ?? "",
    ...(row.permission === "anonymous" && { security: [] }),
    ...(row.permission === "anyone" && { security: [{}, ...SECURITY] }),
    "x-permission": describePermission(row.permission),
    parameters: parameters(row),
    ...(body && { requestBody: body }),
    responses: {
      ...Object.fromEntries((responsesOf(row) ?? []).map(success)),
      ...Object.fromEntries(errorStatuses(row).map((status) => [status, errors])),
      default: errors,
    },
  };
}

export function openApiDocument(endpoints: readonly Endpoint[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const row of endpoints)
    (paths[row.path.replace(/:(\w+)/g, "{$1}")] ??= {})[row.method.toLowerCase()] = operation(row);
  const error = z.object({
    code: z.int(),
    title: z.enum([...new Set(Object.values(errorCatalogue).map((entry) => entry.title))]),
    detail: z.string(),
  });
  return {
    openapi: "3.0.3",
    info: { title: "Cloud Foundry API", version: API_VERSION },
    servers: [{ url: "/" }],
    security: SECURITY,
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: { ...answerSchemas(), Errors: inputSchema(z.object({ errors: z.array(error).min(1) })) },
      responses: {
        Errors: {
          description: "One or more errors",
          content: { "application/json": { schema: { $ref: refOf("Errors") } } },
        },
      },
    },
  };
}

/** Serves the document of `endpoints` and of itself, which the first request generates. */
export function openApiEndpoint(endpoints: readonly Endpoint[]): Endpoint {
  let text: string | undefined;
  const own: Endpoint = endpoint({
    method: "GET",
    path: "/v3/openapi.json",
    permission: "anonymous",
    summary: "Get this OpenAPI document",
    handler: () => ok((text ??= JSON.stringify(openApiDocument([...endpoints, own])))),
  });
  return own;
}
