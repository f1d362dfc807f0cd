// Notices that our own rights may have changed: a binding that names us, among those that somebody watches anyway.
import type { Logger } from "pino";
import { SelfSubjectReview } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import type { KubeObject } from "../api/object.ts";
import { subjectKey, userKeys } from "./rbac-index.ts";
import type { Subject } from "./types.ts";
import type { Change, Store } from "../cache/reader.ts";

/** kube-apiserver's authorizer sees a binding a little later than a watcher may. */
const AUTHORIZER_DELAY_MS = 500;
const SELF_REVIEW_DEADLINE_MS = 10_000;

export interface OwnPermissionChanges {
  /** Listens to bindings of both kinds. */
  observe(store: Store): void;
  close(): void;
}

/** `changed` is told once for many changes; without a namespace for rights everywhere. */
export function watchOwnPermissions(
  client: KubeClient,
  log: Logger,
  onChange: (namespace: string | undefined) => void,
): OwnPermissionChanges {
  const timers = new Map<string | undefined, NodeJS.Timeout>();
  let ownSubjects: Promise<ReadonlySet<string> | undefined> | undefined;

  const reviewSelf = async (): Promise<ReadonlySet<string> | undefined> => {
    try {
      const { status } = await client.review(SelfSubjectReview, {}, { deadlineMs: SELF_REVIEW_DEADLINE_MS });
      return new Set(userKeys({ name: status?.userInfo?.username ?? "", groups: status?.userInfo?.groups ?? [] }));
    } catch (err) {
      log.debug({ err }, "who we are cannot be asked; changed rights are noticed later");
      ownSubjects = undefined;
      return undefined;
    }
  };
  const handleChange = async (change: Change<KubeObject>): Promise<void> => {
    if (change.initial || (change.type === "modified" && !subjectsDiffer(change))) return;
    const me = await (ownSubjects ??= reviewSelf());
    if (!me || !keysOf(change).some((key) => key !== undefined && me.has(key))) return;
    const { namespace } = change.object.metadata;
    if (timers.has(namespace)) return;
    const notify = (): void => {
      timers.delete(namespace);
      onChange(namespace);
    };
    timers.set(namespace, setTimeout(notify, AUTHORIZER_DELAY_MS).unref());
  };
  return {
    observe: (store) => void store.onChange((change) => void handleChange(change)),
    close() {
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

function keysOf(change: Change<KubeObject>): (string | undefined)[] {
  const { namespace = "" } = change.object.metadata;
  const bindings = [change.object, ...(change.type === "added" ? [] : [change.old])];
  return bindings.flatMap((binding) =>
    ((binding["subjects"] as Subject[] | undefined) ?? []).map((subject) => subjectKey(subject, namespace)),
  );
}

/** A roleRef is immutable, so a binding grants something else only when it names others. */
function subjectsDiffer(change: Change<KubeObject> & { type: "modified" }): boolean {
  return JSON.stringify(change.object["subjects"]) !== JSON.stringify(change.old["subjects"]);
}
