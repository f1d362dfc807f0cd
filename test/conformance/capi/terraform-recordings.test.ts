// The conversations with a real Cloud Foundry that the repository of the Terraform provider `cloudfoundry` records (go-vcr): each request is taken here, and each member of an answer that the provider reads back is described. TERRAFORM_RECORDINGS is the folder `cloudfoundry/provider/fixtures` of a copy.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { createEndpoints } from "../../../api/endpoints.ts";
import { responsesOf } from "../../../api/openapi/responses.ts";
import type { Endpoint } from "../../../api/routing/endpoint.ts";
import type { Services } from "../../../api/routing/services.ts";

const folder = process.env["TERRAFORM_RECORDINGS"];
const reason = folder === undefined ? "TERRAFORM_RECORDINGS names no folder of recordings" : undefined;

interface Exchange {
  file: string;
  method: string;
  url: URL;
  request: string;
  status: number;
  answer: string;
}
interface Recording {
  interactions?: {
    request: { method: string; url: string; body: string };
    response: { code: number; body: string };
  }[];
}

function readExchanges(from: string): Exchange[] {
  const files = readdirSync(from).filter((file) => file.endsWith(".yaml"));
  return files.flatMap((file) => {
    const { interactions = [] } = parse(readFileSync(join(from, file), "utf8")) as Recording;
    return interactions.map(({ request, response }) => ({
      file,
      method: request.method,
      url: new URL(request.url),
      request: request.body,
      status: response.code,
      answer: response.body,
    }));
  });
}

const isOfAPI = ({ url }: Exchange): boolean => url.hostname.startsWith("api.") && url.pathname.startsWith("/v3/");
/** Exchanges that a real Cloud Foundry has carried out. */
const exchanges =
  folder === undefined ? [] : readExchanges(folder).filter((each) => isOfAPI(each) && each.status < 300);
const endpoints = createEndpoints({} as Services);

/** The row with the most literal parts. */
function findEndpoint({ method, url }: Exchange): Endpoint | undefined {
  const parts = url.pathname.split("/");
  const fits = (path: string): boolean => {
    const wanted = path.split("/");
    return wanted.length === parts.length && wanted.every((part, at) => part.startsWith(":") || part === parts[at]);
  };
  const literal = ({ path }: Endpoint): number => path.split("/").filter((part) => !part.startsWith(":")).length;
  return endpoints
    .filter((one) => one.method === method && fits(one.path))
    .toSorted((a, b) => literal(b) - literal(a))[0];
}

const lineOf = ({ method, path }: Endpoint): string => `${method} ${path}`;

/** Members and types that a schema does not have. Values, such as the form of an address, are not compared, and members that only answers here have are more. */
function differencesOf(issues: readonly z.core.$ZodIssue[], value: unknown, at: readonly PropertyKey[] = []): string[] {
  return issues.flatMap((issue) => {
    const path = [...at, ...issue.path];
    const name = path.map((part) => (typeof part === "number" ? "*" : String(part))).join(".");
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => `${name && `${name}.`}${key}`);
    if (issue.code === "invalid_union") return shortest(issue.errors.map((each) => differencesOf(each, value, path)));
    const given = path.reduce<unknown>((inner, part) => (inner as Record<PropertyKey, unknown> | null)?.[part], value);
    if (issue.code !== "invalid_type" || given === undefined) return [];
    return [`${name} is ${given === null ? "null" : Array.isArray(given) ? "array" : typeof given}`];
  });
}

const shortest = (lists: readonly string[][]): string[] => lists.toSorted((a, b) => a.length - b.length)[0] ?? [];

/** Cloud Foundry has no description of an operation of some bindings, and here it is an empty text: both are that to the provider. */
const SAME_TO_CLIENTS = /(^|\.)last_operation\.description is null$/;

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // An upload, or no body.
  }
}

/** Differences by endpoint, each once. */
function collect(find: (exchange: Exchange, endpoint: Endpoint) => readonly string[]): Record<string, string[]> {
  const found = new Map<string, Set<string>>();
  for (const exchange of exchanges) {
    const endpoint = findEndpoint(exchange);
    if (!endpoint) continue;
    for (const difference of find(exchange, endpoint))
      found.set(lineOf(endpoint), (found.get(lineOf(endpoint)) ?? new Set()).add(difference));
  }
  return Object.fromEntries([...found].map(([line, set]) => [line, [...set].toSorted()]));
}

describe.skipIf(reason)("recorded conversations of the Terraform provider", () => {
  test("there are some, and each request has its endpoint here", () => {
    expect(exchanges.length).toBeGreaterThan(500);
    const unknown = exchanges
      .filter((each) => !findEndpoint(each))
      .map(({ method, url }) => `${method} ${url.pathname}`);
    expect([...new Set(unknown)]).toEqual([]);
  });

  test("every query is taken", () => {
    const differences = collect(({ url }, { query }) => {
      const names = [...new Set(url.searchParams.keys())];
      const parsed = query?.safeParse(Object.fromEntries(url.searchParams));
      return parsed?.success === false
        ? parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`)
        : query
          ? []
          : names;
    });
    expect(differences).toEqual({});
  });

  test("every body is taken", () => {
    const differences = collect(({ request }, { body }) => {
      const value = parseJSON(request);
      if (value === undefined || !body) return [];
      const parsed = body.safeParse(value);
      return parsed.success ? [] : parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    });
    expect(differences).toEqual({});
  });

  test("answers have the members and types of Cloud Foundry's", () => {
    const differences = collect(({ answer, status }, endpoint) => {
      const value = parseJSON(answer);
      const schemas = (responsesOf(endpoint) ?? []).flatMap(([code, body]) =>
        code === status && body instanceof z.ZodType ? [body] : [],
      );
      if (value === undefined || schemas.length === 0) return [];
      return shortest(
        schemas.map((schema) => {
          const parsed = schema.safeParse(value);
          const found = parsed.success ? [] : differencesOf(parsed.error.issues, value);
          return found.filter((difference) => !SAME_TO_CLIENTS.test(difference));
        }),
      );
    });
    expect(differences).toEqual({});
  });
});
