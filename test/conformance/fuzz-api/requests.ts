// Makes one request of an operation: path, query and body.
import { bodyFor, pathFor, type Things } from "../capi/role-requests.ts";
import { zip } from "../../e2e/bad-input/archives.ts";
import type { FuzzTarget, Schema } from "./openapi.ts";
import { aimAt, DROPLET_FILE, uploadOf } from "./special-things.ts";
import { errs, guidOf, happens, kindNamed, oddText, pick, valueFor, type Chance } from "./values.ts";

export interface FuzzRequest {
  target: FuzzTarget;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
}

/** Values of path parameters that are no GUID. */
const words: Readonly<Record<string, readonly string[]>> = {
  type: ["web", "worker", "nothing"],
  index: ["0", "1", "99", "-1", "x"],
  environment_variable_groups: ["running", "staging", "x"],
  feature_flags: ["diego_docker", "route_creation", "user_org_creation", "nothing"],
  features: ["ssh", "revisions", "nothing"],
};

function pathFrom(chance: Chance, path: string): string {
  return path.replace(/([^/]+)\/\{(\w+)\}/g, (_all, before: string, name: string) => {
    const fixed = words[name] ?? words[before];
    const value =
      fixed && !errs(chance, 0.1)
        ? pick(chance, chance.isTidy ? fixed.slice(0, 1) : fixed)
        : guidOf(chance, name === "source" ? "apps" : (kindNamed(chance, name) ?? before));
    return `${before}/${encodeURIComponent(value)}`;
  });
}

function queryValue(chance: Chance, name: string, schema: Schema): string {
  if (errs(chance, 0.12)) return oddText(chance);
  const value = valueFor(chance, schema, [name]);
  return Array.isArray(value) ? value.map(String).join(",") : typeof value === "object" ? "" : String(value);
}

function queryFrom(chance: Chance, { query }: FuzzTarget): string {
  const share = Math.min(0.5, (chance.isTidy ? 1 : 3) / Math.max(1, query.length));
  const given = query
    .filter(() => happens(chance, share))
    .map(({ name, schema }): [string, string] => [name, queryValue(chance, name, schema)]);
  if (errs(chance, 0.02)) given.push(["bogus", "1"]);
  const text = new URLSearchParams(given).toString();
  return text ? `?${text}` : "";
}

function bodyFrom(chance: Chance, { path, media, body }: FuzzTarget): Pick<FuzzRequest, "headers" | "body"> {
  if (media === undefined) return { headers: {} };
  if (errs(chance, 0.02))
    return { headers: { "content-type": media }, body: pick(chance, ["", "{", "[]", "null", "\u0000"]) };
  if (path === "/v3/droplets/{guid}/upload" && chance.isTidy) return uploadOf(DROPLET_FILE, "droplet.tgz");
  if (media === "multipart/form-data" && chance.isTidy)
    return uploadOf(zip([{ name: "bin/detect", content: Buffer.from("true") }]));
  if (media === "multipart/form-data") {
    const part = `--b\r\ncontent-disposition: form-data; name="${pick(chance, ["bits", "resources", "x"])}"; filename="a.zip"\r\n\r\nPK\r\n--b--\r\n`;
    return { headers: { "content-type": `${media}; boundary=b` }, body: part };
  }
  return { headers: { "content-type": media }, body: JSON.stringify(valueFor(chance, body ?? {}, [])) };
}

/** Parameters that the role matrix calls otherwise. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  destination: "destination_guid",
  org: "org_guid",
  space: "space_guid",
};

/** A request of the role matrix, which passes validation and acts on `things`. */
function knownRequest(chance: Chance, target: FuzzTarget, things: Things): FuzzRequest {
  const template = target.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => `:${OTHER_NAMES[name] ?? name}`);
  const body = bodyFor(`${target.method} ${template}`, things, `known-${Math.floor(chance.random() * 1e6)}`);
  const headers: Record<string, string> =
    body === undefined ? {} : { "content-type": target.media ?? "application/json" };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { target, path: pathFor(template, things), headers, ...(body !== undefined && { body: text }) };
}

/** Objects that may be deleted: only some, so that others find something. */
function withoutStanding(chance: Chance, things: Things): Chance["guids"] {
  if (happens(chance, 0.01)) return chance.guids;
  const standing = new Set(Object.values(things));
  return Object.fromEntries(
    Object.entries(chance.guids).map(([kind, guids]) => [kind, guids.filter((guid) => !standing.has(guid))]),
  );
}

/** A request; the same chance gives the same request. */
export function makeRequest(anyChance: Chance, targets: readonly FuzzTarget[], anyThings: Things): FuzzRequest {
  const target = pick(anyChance, targets);
  const any = { chance: anyChance, things: anyThings };
  const { chance, things } = anyChance.isTidy ? aimAt(`${target.method} ${target.path}`, any) : any;
  // Keeps the permanent objects.
  const isRemoval = target.method === "DELETE" && /^\/v3\/\w+\/\{guid\}$/.test(target.path);
  if (chance.isTidy && !isRemoval && !target.path.endsWith("/upload") && happens(chance, 0.5))
    return knownRequest(chance, target, things);
  const spared = isRemoval ? { ...chance, guids: withoutStanding(chance, things) } : chance;
  return {
    target,
    path: pathFrom(spared, target.path) + queryFrom(chance, target),
    ...bodyFrom(chance, target),
  };
}
