// The verbs get and list, from memory.
import type { KubeObject } from "../../../kube/api/object.ts";
import { badRequest, expired, failure } from "../status.ts";
import { type Core, currentOf, shown } from "./core.ts";
import { checkListOptions } from "./list-options.ts";
import { parseSelectors } from "./selectors.ts";
import type { Table } from "../storage/table.ts";
import type { Call } from "./types.ts";

export function get(core: Core, call: Call): KubeObject {
  const version = call.query.get("resourceVersion") ?? "";
  checkNumber(version);
  checkVersion(core, version);
  return shown(call, currentOf(core, call.target));
}

export interface Listed {
  items: KubeObject[];
  resourceVersion: string;
  continue?: string;
  remainingItemCount?: number;
}

interface Continue {
  v: "meta.k8s.io/v1";
  rv: number;
  /** `namespace/name` of the last object shown. */
  start: string;
}

const keyOf = (object: KubeObject) => `${object.metadata.namespace ?? ""}/${object.metadata.name}`;

/** A page of a list. Later pages show the moment of the first one; 410 when that is forgotten. */
export function list(core: Core, call: Call): Listed {
  const { query } = call;
  checkListOptions(query, false);
  checkVersion(core, query.get("resourceVersion") ?? "");
  const token = readToken(query);
  const exactly = token?.rv ?? exactVersion(query);
  const { objects, isSelected } = chosen(core, call, exactly);
  const rest = token ? objects.filter((object) => isAfter(object, token.start)) : objects;
  const asked = Number(query.get("limit"));
  const limit = asked > 0 ? asked : rest.length;
  const page = limit < rest.length ? rest.slice(0, limit) : rest;
  const version = exactly ?? core.store.version();
  return {
    items: page.map((object) => shown(call, object)),
    resourceVersion: String(version),
    ...(page.length < rest.length && more(page, version, isSelected ? undefined : rest.length - page.length)),
  };
}

function exactVersion(query: URLSearchParams): number | undefined {
  return query.get("resourceVersionMatch") === "Exact" ? Number(query.get("resourceVersion")) : undefined;
}

/** Where the next page begins; with the number of remaining objects when there is no selector. */
function more(
  page: KubeObject[],
  version: number,
  remaining: number | undefined,
): Pick<Listed, "continue" | "remainingItemCount"> {
  const last = page.at(-1);
  return {
    continue: writeToken({ v: "meta.k8s.io/v1", rv: version, start: last ? keyOf(last) : "" }),
    ...(remaining !== undefined && { remainingItemCount: remaining }),
  };
}

/** All objects that a call is about, before paging; at a version of the past when one is given. */
function chosen(core: Core, call: Call, version: number | undefined): { objects: KubeObject[]; isSelected: boolean } {
  const { type, namespace } = call.target;
  const { selects, name } = parseSelectors(call.query, type);
  const table = core.store.table(type.storageKey);
  const isOne = name !== undefined && version === undefined && (namespace || !type.namespaced);
  let objects = isOne ? present(table.find(namespace, name)) : objectsAt(core, table, namespace, version);
  if (type.fromStored) objects = objects.map((object) => shown(call, object));
  return { objects: selects ? objects.filter(selects) : objects, isSelected: selects !== undefined };
}

function objectsAt(core: Core, table: Table, namespace: string, version: number | undefined): KubeObject[] {
  if (version === undefined || version === core.store.version()) return table.list(namespace || undefined);
  const objects = table.listAt(version, namespace);
  if (!objects)
    throw expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.",
    );
  return objects;
}

const present = (object: KubeObject | undefined) => (object ? [object] : []);

function isAfter(object: KubeObject, key: string): boolean {
  const slash = key.indexOf("/");
  const namespace = object.metadata.namespace ?? "";
  const other = key.slice(0, slash);
  return namespace === other ? object.metadata.name > key.slice(slash + 1) : namespace > other;
}

function writeToken(token: Continue): string {
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

function readToken(query: URLSearchParams): Continue | undefined {
  const text = query.get("continue");
  if (!text) return undefined;
  if (!["", "0"].includes(query.get("resourceVersion") ?? ""))
    throw badRequest("specifying resource version is not allowed when using continue");
  try {
    const token = JSON.parse(Buffer.from(text, "base64url").toString()) as Partial<Continue> | null;
    if (typeof token?.start === "string" && typeof token.rv === "number") return token as Continue;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw badRequest("invalid continue token: continue key is not valid: invalid character in token");
}

/** A version from the future is answered as kube-apiserver does after its wait; one that is no number is refused. */
export function checkVersion(core: Core, version: string): void {
  if (version === "" || version === "0") return;
  if (!NUMBER.test(version)) throw badRequest(`invalid resource version: ${notNumber(version)}`);
  if (Number(version) > core.store.version()) {
    throw failure(504, "Timeout", `Timeout: Too large resource version: ${version}, current: ${core.store.version()}`, {
      details: {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      },
    });
  }
}

const NUMBER = /^\d+$/;
const notNumber = (version: string) =>
  `resourceVersion: Invalid value: ${JSON.stringify(version)}: strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`;

/** For get and watch, where kube-apiserver answers 500. */
export function checkNumber(version: string): void {
  if (version !== "" && !NUMBER.test(version)) throw failure(500, "", notNumber(version));
}

export const tooOld = (version: number, oldest: number) => expired(`too old resource version: ${version} (${oldest})`);
