// Judges every answer of the API by the schema that the OpenAPI document publishes for it: no member missing, none more, links that lead somewhere.
import { z } from "zod";
import { createEndpoints } from "../../../api/endpoints.ts";
import type { Endpoint } from "../../../api/routing/endpoint.ts";
import { errorCatalogue } from "../../../api/http/errors.ts";
import { normalisedUrl } from "../../../api/routing/routing.ts";
import { responsesOf, type ResponseBody } from "../../../api/openapi/responses.ts";
import type { Services } from "../../../api/routing/services.ts";

/** Judged parts of an answer. */
export interface JudgedAnswer {
  status: number;
  headers: Headers;
  text: string;
}

interface Pattern {
  row: Endpoint;
  pattern: RegExp;
}

const patterns: readonly Pattern[] = createEndpoints({} as Services).map((row) => ({
  row,
  pattern: new RegExp(`^${row.path.replace(/[.]/g, "\\.").replaceAll(/:\w+/g, "[^/]+")}$`),
}));

/** The row that serves a request; its path may have a query. */
export function rowFor(method: string, path: string): Endpoint | undefined {
  const bare = normalisedUrl(path).replace(/\?.*/, "");
  return patterns.find(({ row, pattern }) => row.method === method && pattern.test(bare))?.row;
}

/** Titles of the catalogue by code. */
const knownErrors = new Set(Object.values(errorCatalogue).map(({ code, title }) => `${code} ${title}`));

const errorBody = z.strictObject({
  errors: z
    .array(z.strictObject({ code: z.int(), title: z.string(), detail: z.string().min(1) }))
    .min(1)
    .refine((errors) => errors.every(({ code, title }) => knownErrors.has(`${code} ${title}`)), {
      error: "is not in the catalogue of errors",
    }),
});

/** Addresses of other servers that answer under this one's, and prefixes of addresses rather than addresses. */
const servedElsewhere = new Set(["/routing", "/networking/v1/external", "/v3/environment_variable_groups"]);

function linksIn(value: unknown, at: string): { href: string; method?: string; at: string }[] {
  if (typeof value !== "object" || value === null) return [];
  const { href } = value as { href?: unknown };
  const own = typeof href === "string" && href !== "" ? [{ ...(value as { href: string }), at }] : [];
  return [...own, ...Object.entries(value).flatMap(([name, child]) => linksIn(child, at ? `${at}.${name}` : name))];
}

/** As in CF, some links without a method are of addresses that only POST knows. */
function isServed(method: string | undefined, path: string): boolean {
  // A GUID is missing: kubectl made the object, or took away what it belongs to.
  if (path.includes("//") || path.endsWith("/")) return true;
  return (method === undefined ? ["GET", "POST"] : [method]).some((one) => rowFor(one, path));
}

function deadLinks(body: unknown): string[] {
  return linksIn(body, "").flatMap(({ href, method, at }) => {
    // A host and a port of the SSH proxy.
    if (at === "links.app_ssh") return [];
    const { pathname } = new URL(href, "http://localhost");
    return servedElsewhere.has(pathname) || isServed(method, pathname)
      ? []
      : [`${at}: ${method ?? ""} ${href} leads to no endpoint`];
  });
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function schemaProblems(schema: z.ZodType, body: unknown): string[] {
  const parsed = schema.safeParse(body, { reportInput: true });
  return parsed.success
    ? []
    : parsed.error.issues.map(
        (issue) =>
          `${issue.path.join(".") || "the body"}: ${issue.message}${issue.code === "invalid_union" ? ` ${JSON.stringify(issue.errors).slice(0, 500)}` : ""}, got ${JSON.stringify(issue.input)?.slice(0, 200)}`,
      );
}

function bodyProblems(expected: ResponseBody, { headers, text }: JudgedAnswer): string[] {
  if (expected === "empty") return text === "" ? [] : [`the body: was to be empty, got ${text.slice(0, 100)}`];
  if (expected === "job") return headers.has("location") ? [] : ["no header Location"];
  if (typeof expected === "string") return text === "" ? [`the body: was to be ${expected}`] : [];
  const body = parse(text);
  return [...schemaProblems(expected, body), ...deadLinks(body)];
}

function errorProblems(row: Endpoint | undefined, answer: JudgedAnswer): string[] {
  // UAA, the routing API and Prometheus have shapes of their own for errors.
  const isForeign = /^\/(Users|oauth|check_token|routing|api\/v1\/query)/.test(row?.path ?? "");
  return isForeign ? [] : schemaProblems(errorBody, parse(answer.text));
}

function successProblems(row: Endpoint | undefined, answer: JudgedAnswer): string[] {
  const expected = row && responsesOf(row)?.find(([status]) => status === answer.status)?.[1];
  return expected === undefined ? ["this status is not in api/openapi/responses.ts"] : bodyProblems(expected, answer);
}

/** Problems of an answer; each problem names the endpoint and the field. */
export function answerProblems(method: string, path: string, answer: JudgedAnswer): string[] {
  const row = rowFor(method, path);
  const problems = answer.status >= 400 ? errorProblems(row, answer) : successProblems(row, answer);
  return problems.map((problem) => `${method} ${row?.path ?? path} ${answer.status}: ${problem}`);
}
