// Notices that our own rights may have changed: a binding that names us, among those that somebody watches anyway.
import type { Logger } from "pino";
import { SelfSubjectReview } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import type { KubeObject } from "../api/object.ts";
import { subjectKey, userKeys } from "./rbac-index.ts";
import type { Subject } from "./types.ts";
import type { Change, Store } from "../cache/reader.ts";

/** kube-apiserver's authorizer sees a binding a little later than a watcher may. */
const SETTLE_MS = 500;
const WHO_DEADLINE_MS = 10_000;

export interface OwnRights {
  /** Listens to bindings of both kinds. */
  observe(store: Store): void;
  close(): void;
}

/** `changed` is told once for many changes; without a namespace for rights everywhere. */
export function createOwnRights(client: KubeClient, log: Logger, changed: (namespace: string | undefined) => void): OwnRights {
  const timers = new Map<string | undefined, NodeJS.Timeout>();
  let who: Promise<ReadonlySet<string> | undefined> | undefined;

  const ask = async (): Promise<ReadonlySet<string> | undefined> => {
    try {
      const { status } = await client.review(SelfSubjectReview, {}, { deadlineMs: WHO_DEADLINE_MS });
      return new Set(userKeys({ name: status?.userInfo?.username ?? "", groups: status?.userInfo?.groups ?? [] }));
    } catch (err) {
      log.debug({ err }, "who we are cannot be asked; changed rights are noticed later");
      who = undefined;
      return undefined;
    }
  };
  const hear = async (change: Change<KubeObject>): Promise<void> => {
    if (change.initial || (change.type === "modified" && !subjectsDiffer(change))) return;
    const me = await (who ??= ask());
    if (!me || !keysOf(change).some((key) => key !== undefined && me.has(key))) return;
    const { namespace } = change.object.metadata;
    if (timers.has(namespace)) return;
    const due = (): void => {
      timers.delete(namespace);
      changed(namespace);
    };
    timers.set(namespace, setTimeout(due, SETTLE_MS).unref());
  };
  return {
    observe: (store) => void store.onChange((change) => void hear(change)),
    close() {
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

function keysOf(change: Change<KubeObject>): (string | undefined)[] {
  const { namespace = "" } = change.object.metadata;
  const bindings = [change.object, ...(change.type === "added" ? [] : [change.old])];
  return bindings.flatMap((binding) => ((binding["subjects"] as Subject[] | undefined) ?? []).map((subject) => subjectKey(subject, namespace)));
}

/** A roleRef is immutable, so a binding grants something else only when it names others. */
function subjectsDiffer(change: Change<KubeObject> & { type: "modified" }): boolean {
  return JSON.stringify(change.object["subjects"]) !== JSON.stringify(change.old["subjects"]);
}
