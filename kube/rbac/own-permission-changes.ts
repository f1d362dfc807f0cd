// Detects changes of our own permissions: changed bindings that name us, among the bindings that are watched anyway.
import type { Logger } from "pino";
import { SelfSubjectReview } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import type { KubeObject } from "../api/object.ts";
import { subjectKey, userKeys } from "./rbac-index.ts";
import type { Subject } from "./types.ts";
import type { Change, Store } from "../cache/reader.ts";

/** kube-apiserver's authorizer may learn of a binding later than a watch does. */
const AUTHORIZER_DELAY_MS = 500;
const SELF_REVIEW_DEADLINE_MS = 10_000;

export interface OwnPermissionChanges {
  /** Subscribes to a store of RoleBindings or ClusterRoleBindings. */
  observe(store: Store): void;
  close(): void;
}

/** Calls `onChange` once for several changes; without a namespace for cluster-wide permissions. */
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
      log.debug({ err }, "our own identity is unknown; changed permissions take effect when watches are reopened");
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

/** roleRef is immutable, so only other subjects change what a binding grants. */
function subjectsDiffer(change: Change<KubeObject> & { type: "modified" }): boolean {
  return JSON.stringify(change.object["subjects"]) !== JSON.stringify(change.old["subjects"]);
}
