// Logs a session's writes to the logs of the apps they concern.
import type { KubeObject } from "../../kube/api/object.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { appOf } from "../cf/app/owner-app.ts";
import { appOfWrite, toAppLogLine, type Write } from "../cf/app/app-log.ts";
import { App } from "../../crds/app/app.ts";
import type { AppLog, SessionWriter } from "./session.ts";

/** Wraps `writer`: each successful write adds a line to its app's log. */
export function logWrites(writer: SessionWriter, cache: ClusterCache, log: AppLog): SessionWriter {
  const record = (write: Write): void => {
    const app = appOfWrite(write, (child) => appOf(cache, child as Parameters<typeof appOf>[1]));
    const source = app && cache.guid(App, app);
    const message = source && toAppLogLine(write, source);
    if (source && message) log({ source, sourceType: "API", message });
  };
  return {
    ...writer,
    async create(ref, draft, taken) {
      const object = await writer.create(ref, draft, taken);
      record({ verb: "create", ref, object });
      return object as never;
    },
    async patch(ref, object, patch, renamed) {
      const after = await writer.patch(ref, object, patch, renamed);
      record({ verb: "patch", ref, object, ...specOf(patch.type === "json" ? {} : patch.body) });
      return after;
    },
    async patchWithRetry<T extends KubeObject>(
      ...[ref, object, body]: Parameters<typeof writer.patchWithRetry<T>>
    ): Promise<T> {
      let changes: Record<string, unknown> | undefined;
      const after = await writer.patchWithRetry(ref, object, (current) => (changes = body(current)));
      if (changes) record({ verb: "patch", ref, object, ...specOf(changes) });
      return after;
    },
    async delete(ref, object) {
      await writer.delete(ref, object);
      record({ verb: "delete", ref, object });
    },
  };
}

function specOf({ spec }: Record<string, unknown>): Pick<Write, "changes"> {
  return spec ? { changes: spec as Record<string, unknown> } : {};
}
