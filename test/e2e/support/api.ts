// The CF API as one user calls it, for journeys that need more than `cf` and `cup` say: answers whole, many at once.
import { readFileSync } from "node:fs";
import { request } from "undici";
import { parse } from "yaml";
import type { TestPlatform } from "./test-platform.ts";

/** The API's own errors, as every refusal must carry them. */
export interface CFErrors {
  errors: { code: number; title: string; detail: string }[];
}

export interface ApiAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Answer of a list. */
export interface Page<T> {
  pagination: { total_results: number };
  resources: T[];
}
/** Common members of most resources. */
export interface Named {
  guid: string;
  name: string;
}

export interface Api {
  /** Any answer as it came. */
  send(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  /** A JSON answer. @throws Error when it is not 2xx */
  call<T = Named>(method: string, path: string, body?: unknown): Promise<T>;
}

const DEADLINE_MS = 40_000;

/** The API at `url` with a bearer token. */
export function apiAt(url: string, token: string): Api {
  async function send(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const headers = {
      authorization: `bearer ${token}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const answer = await request(`${url}${path}`, {
      method: method as "GET",
      headers,
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      headersTimeout: DEADLINE_MS,
      bodyTimeout: DEADLINE_MS,
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  }
  return {
    send,
    async call<T>(method: string, path: string, body?: unknown) {
      const { status, text } = await send(method, path, body);
      if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
      return (text === "" ? {} : JSON.parse(text)) as T;
    },
  };
}

/** The token of a user of the stage's kubeconfig: admin or developer. */
export function tokenOf(testPlatform: TestPlatform, user: string): string {
  const { users } = parse(readFileSync(testPlatform.kubeconfig, "utf8")) as {
    users: { name: string; user: { token: string } }[];
  };
  const found = users.find(({ name }) => name === user);
  if (!found) throw new Error(`the kubeconfig has no user ${user}`);
  return found.user.token;
}

/** The errors of an answer. @throws Error when it has not CF's error shape */
export function errorsOf({ status, text }: ApiAnswer): CFErrors["errors"] {
  const { errors } = parseObject(text, status) as Partial<CFErrors>;
  const fits =
    Array.isArray(errors) &&
    errors.length > 0 &&
    errors.every(({ code, title, detail }) => Number.isInteger(code) && Boolean(title) && typeof detail === "string");
  if (!fits) throw new Error(`${status} has no errors in CF's shape: ${text.slice(0, 400)}`);
  return errors;
}

function parseObject(text: string, status: number): object {
  try {
    return JSON.parse(text) as object;
  } catch (cause) {
    throw new Error(`${status} is no JSON: ${text.slice(0, 400)}`, { cause });
  }
}

/** The GUID of an object, as its label says. */
export async function guidOf(testPlatform: TestPlatform, object: string, namespace: string): Promise<string> {
  const { code, output } = await testPlatform.kubectl(
    "get",
    object,
    "-n",
    namespace,
    "-o",
    "jsonpath={.metadata.labels.cupola\\.dev/guid}",
  );
  if (code !== 0 || output === "") throw new Error(`${object} has no GUID: ${output}`);
  return output;
}
