// An attempt to write with somebody's token. All are dry runs.
import type { Answer, Api, Json } from "../kubernetes/api.ts";

const dry = (path: string): string => `${path}?dryRun=All`;

export interface Attempt {
  what: string;
  send(as: Api): Promise<Answer>;
}

export function create(what: string, path: string, object: Json): Attempt {
  return { what, send: (as) => as.post(dry(path), object) };
}

export function patch(what: string, path: string, body: Json): Attempt {
  return { what, send: (as) => as.patch("merge", dry(path), body) };
}

export function remove(what: string, path: string): Attempt {
  return { what, send: (as) => as.delete(dry(path)) };
}

export function named(apiVersion: string, kind: string, more: Json): Json {
  return { apiVersion, kind, metadata: { name: "tried" }, ...more };
}
