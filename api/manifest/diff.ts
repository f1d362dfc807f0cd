// Changes that applying a manifest would make: `POST /v3/spaces/:guid/manifest_diff`. Compares only keys that the manifest names. Pure.
import { LOCAL_KEYS } from "./plan.ts";
import { toBytesPerSecond, toMegabytes } from "./sizes.ts";
import { isRecord } from "../../kube/api/is-record.ts";

/** A JSON patch operation with the previous value. */
export interface Difference {
  op: "add" | "remove" | "replace";
  path: string;
  was?: unknown;
  value?: unknown;
}

/** Lists of an app whose items are matched by a key. */
const LIST_KEYS: ReadonlyMap<string, string> = new Map([
  ["processes", "type"],
  ["routes", "route"],
  ["sidecars", "name"],
]);
const SIZES = new Set(["memory", "disk-quota"]);
/** Keys that control the push and do not describe the app. */
const INSTRUCTIONS = new Set(["path", "default-route", "random-route", "no-route", "docker", "buildpack", "name"]);
/** Process keys at the top level of an app, which configure its web process. */
const WEB_KEYS = new Set<string>(LOCAL_KEYS);
const GENERATED_KEYS: Readonly<Record<string, string>> = {
  "disk-quota": "disk_quota",
  "process-types": "process_types",
};
/** As in CF, generated manifests write these keys with an underscore. */
const generatedKey = (key: string): string => GENERATED_KEYS[key] ?? key;

type Json = Record<string, unknown>;

/** `current` is the app's generated manifest entry; undefined when the app does not exist yet. */
export function diffApplication(wanted: Json, current: Json | undefined, path: string): Difference[] {
  if (!current) return addAll(wanted, path);
  return Object.entries(wanted).flatMap(([key, value]) =>
    INSTRUCTIONS.has(key) ? [] : diffKey(key, value, { was: currentValue(key, current), path: `${path}/${key}` }),
  );
}

/** A top-level key of the app; nested keys of the same name may be variables or labels. */
function diffKey(key: string, value: unknown, { was, path }: { was: unknown; path: string }): Difference[] {
  const identity = LIST_KEYS.get(key);
  if (identity === undefined || !Array.isArray(value)) return diffValue(key, value, { was, path });
  return diffList(identity, value as Json[], { was: Array.isArray(was) ? (was as Json[]) : [], path });
}

function currentValue(key: string, current: Json): unknown {
  const web = ((current["processes"] ?? []) as Json[]).find((process) => process["type"] === "web");
  return own((WEB_KEYS.has(key) ? web : current) ?? {}, generatedKey(key));
}

/** Own properties only: users may choose names such as `constructor`, which every object inherits. */
function own(object: Json, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function addAll(wanted: Json, path: string): Difference[] {
  return Object.entries(wanted)
    .filter(([key]) => key !== "path")
    .map(([key, value]) => ({ op: "add", path: `${path}/${key}`, value }));
}

function diffValue(key: string, value: unknown, { was, path }: { was: unknown; path: string }): Difference[] {
  if (isRecord(value))
    return Object.entries(value).flatMap(([name, child]) =>
      diffValue(name, child, { was: isRecord(was) ? own(was, name) : undefined, path: `${path}/${name}` }),
    );
  const after = normalised(key, value);
  if (comparable(key, value) === comparable(key, was)) return [];
  return [
    was === undefined || was === null ? { op: "add", path, value: after } : { op: "replace", path, was, value: after },
  ];
}

function diffList(
  identity: string,
  value: readonly Json[],
  { was, path }: { was: readonly Json[]; path: string },
): Difference[] {
  return value.flatMap((item, index) => {
    const before = was.find((one) => one[identity] === item[identity]);
    if (!before) return [{ op: "add" as const, path: `${path}/${index}`, value: item }];
    return Object.entries(item).flatMap(([key, child]) =>
      diffValue(key, child, { was: own(before, generatedKey(key)), path: `${path}/${index}/${key}` }),
    );
  });
}

function normalised(key: string, value: unknown): unknown {
  const megabytes = SIZES.has(key) && typeof value === "string" ? toMegabytes(value) : undefined;
  return megabytes === undefined ? value : `${megabytes}M`;
}

/** Values as comparable text, so that equal sizes with other units and variables written as numbers are equal. */
function comparable(key: string, value: unknown): string | undefined {
  if (key === "log-rate-limit-per-second") return String(toBytesPerSecond(String(value)));
  const normal = normalised(key, value);
  return typeof normal === "number" || typeof normal === "boolean"
    ? String(normal)
    : typeof normal === "string"
      ? normal
      : JSON.stringify(normal);
}
