// The verb watch: from a version (or from now, with what exists), through selectors, with bookmarks.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { StatusBody } from "../types.ts";
import type { HistoryEntry } from "../storage/history.ts";
import { type Core, shown } from "./core.ts";
import { checkListOptions, flagOf } from "./list-options.ts";
import { checkNumber, tooOld } from "./read.ts";
import { parseSelectors, type Selects } from "./selectors.ts";
import type { Call } from "./types.ts";

export type WatchType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";

export interface Watch {
  /** Sends the initial events, then every change, until the returned function is called. */
  start(send: (type: WatchType, object: KubeObject) => void): () => void;
  /** An object to send as bookmark: everything up to its version was sent. */
  bookmark(): KubeObject;
  bookmarks: boolean;
  /** Sent as the only event: the version asked for is no longer in the history (410). */
  failure?: StatusBody;
}

/** Prepares a watch; throws 422 on contradicting options. A version from the future is waited for. */
export function watch(core: Core, call: Call): Watch {
  const { type, version, namespace } = call.target;
  const { query } = call;
  const { selects } = parseSelectors(query, type);
  const from = query.get("resourceVersion") ?? "";
  checkNumber(from);
  const initial = flagOf(query, "sendInitialEvents") === true;
  checkListOptions(query, true);
  const table = core.store.table(type.storageKey);
  const all = from === "" || from === "0" || initial;
  const due = all ? [] : table.since(Number(from));

  const apiVersion = type.group ? `${type.group}/${version.version}` : version.version;
  const bookmark = (annotations?: Record<string, string>) =>
    ({
      kind: type.kind,
      apiVersion,
      metadata: { resourceVersion: String(core.store.version()), ...(annotations && { annotations }) },
    }) as unknown as KubeObject;
  const inScope = (object: KubeObject) => !namespace || object.metadata.namespace === namespace;

  return {
    ...(!due && { failure: tooOld(Number(from), core.store.version()).body }),
    bookmarks: flagOf(query, "allowWatchBookmarks") === true,
    bookmark: () => bookmark(),
    start(send) {
      const pass = (entry: HistoryEntry) => {
        if (!inScope(entry.object)) return;
        const object = shown(call, entry.object);
        const kind = selects ? transition(entry, selects, (each) => shown(call, each)) : entry.type;
        // An object that left the selection is shown as it last was inside, under the new version.
        if (kind === "DELETED" && entry.type === "MODIFIED" && entry.oldObject) {
          const old = shown(call, entry.oldObject);
          send(kind, { ...old, metadata: { ...old.metadata, resourceVersion: object.metadata.resourceVersion } });
        } else if (kind) send(kind, object);
      };
      if (all) {
        for (const object of table.list(namespace || undefined)) {
          const converted = shown(call, object);
          if (!selects || selects(converted)) send("ADDED", converted);
        }
      }
      if (initial) send("BOOKMARK", bookmark({ "k8s.io/initial-events-end": "true" }));
      for (const entry of due ?? []) pass(entry);
      return table.subscribe(pass);
    },
  };
}

/** The event of a change under a selector: an object that begins to match is ADDED, one that stops is DELETED. */
function transition(
  entry: HistoryEntry,
  selects: Selects,
  convert: (object: KubeObject) => KubeObject,
): WatchType | undefined {
  const isIn = selects(convert(entry.object));
  if (entry.type === "ADDED") return isIn ? "ADDED" : undefined;
  const wasIn = entry.oldObject !== undefined && selects(convert(entry.oldObject));
  if (entry.type === "DELETED") return wasIn ? "DELETED" : undefined;
  if (isIn) return wasIn ? "MODIFIED" : "ADDED";
  return wasIn ? "DELETED" : undefined;
}
