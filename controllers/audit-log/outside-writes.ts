// Which changes of an object were made past the CF API, by kubectl for example, and by which manager of its fields. Pure.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../kube/api/object.ts";
import { isPlatformWritten, outsideWritersOf } from "../../crds/audit-log/outside-writers.ts";
import { isRecord } from "../../kube/api/is-record.ts";

/** A write past the CF API. `changes` is the difference of the specs, as a merge patch. */
export interface OutsideWrite {
  verb: "create" | "patch";
  /** The created object, or its state before the patch. */
  object: KubeObject;
  changes: Record<string, unknown>;
  /** Manager of the changed fields. */
  manager: string;
}

/** Annotation of kubectl apply: it changes with every apply. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** An object that the API or a controller made has their fields. */
export function planOutsideCreate(object: KubeObject): OutsideWrite | undefined {
  const [writer] = outsideWritersOf(object);
  if (!writer || isPlatformWritten(object)) return undefined;
  return { verb: "create", object, changes: {}, manager: writer.manager };
}

/**
 * A write whose manager's time has changed, or that brought the manager. Kubernetes notes times in seconds, and no manager for a write that only
 * removes fields: a second write of one manager in a second, and such removals, are not seen.
 */
export function planOutsidePatch(old: KubeObject, object: KubeObject): OutsideWrite | undefined {
  const before = new Map(outsideWritersOf(old).map(({ manager, time }) => [manager, time]));
  const writer = outsideWritersOf(object)
    .filter(({ manager, time }) => before.get(manager) !== time)
    .reduce<{ manager: string; time: string } | undefined>(
      (newest, one) => (newest && newest.time >= one.time ? newest : one),
      undefined,
    );
  if (!writer) return undefined;
  const changes = toChanges(specOf(old), specOf(object));
  if (Object.keys(changes).length === 0 && hasSameMetadata(old, object)) return undefined;
  return { verb: "patch", object: old, changes: withRestart(changes, object), manager: writer.manager };
}

function specOf(object: KubeObject): Record<string, unknown> {
  return ((object as { spec?: object }).spec ?? {}) as Record<string, unknown>;
}

/** The merge patch from one to the other. */
export function toChanges(old: Record<string, unknown>, now: Record<string, unknown>): Record<string, unknown> {
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  const changed = keys.filter((key) => !isDeepStrictEqual(old[key], now[key]));
  return Object.fromEntries(
    changed.map((key) => {
      const [from, to] = [old[key], now[key]];
      return [key, isRecord(to) ? toChanges(isRecord(from) ? from : {}, to) : (to ?? null)];
    }),
  );
}

/** A new value of an app's `restart` is what cf calls a restart. */
function withRestart(changes: Record<string, unknown>, { kind, ...rest }: KubeObject): Record<string, unknown> {
  const isRestart = kind === "App" && "restart" in changes && specOf(rest as KubeObject)["state"] === "Started";
  return isRestart ? { state: "Started", ...changes } : changes;
}

function hasSameMetadata({ metadata: old }: KubeObject, { metadata: now }: KubeObject): boolean {
  const { [LAST_APPLIED]: _before, ...oldAnnotations } = old.annotations ?? {};
  const { [LAST_APPLIED]: _after, ...annotations } = now.annotations ?? {};
  return isDeepStrictEqual(old.labels ?? {}, now.labels ?? {}) && isDeepStrictEqual(oldAnnotations, annotations);
}
