// Reports a session's successful writes to observers: the logs of the apps they concern, and the audit events.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { Write } from "../app/app-log.ts";
import type { SessionWriter } from "../../access/session.ts";

/** Called after a write has succeeded. Must not throw. */
export type WriteObserver = (write: Write) => void;

/** Wraps `writer`: `observe` learns of each successful write. */
export function observeWrites(writer: SessionWriter, observe: WriteObserver): SessionWriter {
  return {
    ...writer,
    async create(ref, draft, taken) {
      const object = await writer.create(ref, draft, taken);
      observe({ verb: "create", ref, object });
      return object as never;
    },
    async patch(ref, object, patch, renamed) {
      const after = await writer.patch(ref, object, patch, renamed);
      observe({ verb: "patch", ref, object, ...specOf(patch.type === "json" ? {} : patch.body) });
      return after;
    },
    async patchWithRetry<T extends KubeObject>(
      ...[ref, object, body]: Parameters<typeof writer.patchWithRetry<T>>
    ): Promise<T> {
      let changes: Record<string, unknown> | undefined;
      let before = object;
      const after = await writer.patchWithRetry(ref, object, (current) => {
        before = current;
        return (changes = body(current));
      });
      if (changes) observe({ verb: "patch", ref, object: before, ...specOf(changes) });
      return after;
    },
    async move(ref, object, draft, taken) {
      const after = await writer.move(ref, object, draft, taken);
      observe({ verb: "move", ref, object, moved: after });
      return after;
    },
    async delete(ref, object) {
      await writer.delete(ref, object);
      observe({ verb: "delete", ref, object });
    },
  };
}

function specOf({ spec }: Record<string, unknown>): Pick<Write, "changes"> {
  return spec ? { changes: spec as Record<string, unknown> } : {};
}
