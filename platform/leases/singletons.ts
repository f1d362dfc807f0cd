// What one replica of many does: backends that act on a machine, controllers with side effects, and clean-up. One Lease for each operation.
import type { Logger } from "pino";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Controller } from "../../kube/controller/controller.ts";
import { runElected, type Elected, type Office } from "../../kube/lease/leader-work.ts";
import type { LeaderTiming, Term } from "../../kube/lease/leader-election.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Watches } from "../../kube/cache/informers.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { Operation } from "../operations/operations.ts";
import { PLATFORM } from "../operations/controller-settings.ts";

/** The elected part of one operation. */
export interface Post {
  operation: Operation;
  /** Known before this process may take over. */
  warm: readonly ResourceRef[];
  open: (term: Term, client: KubeClient) => Office;
}

/** A post for controllers with side effects, and for work beside them; undefined where there is none. */
export function postOf(operation: Operation, controllers: readonly Controller[], chores: readonly Chore[] = []): Post | undefined {
  const singletons = controllers.filter(({ kind }) => kind === "singleton");
  if (singletons.length === 0 && chores.length === 0) return undefined;
  const kinds = [...singletons.flatMap(kindsOf), ...chores.flatMap(({ reads }) => reads)];
  return {
    operation,
    warm: [...new Map(kinds.map((ref) => [resourceId(ref), ref])).values()],
    open: () => {
      const over = new AbortController();
      return {
        controllers: singletons,
        start: () => chores.forEach((chore) => chore.start(over.signal)),
        stop: () => over.abort(),
      };
    },
  };
}

/** Work by the clock, done by the leader. `start` returns at once; the work ends with the signal. */
export interface Chore {
  reads: readonly ResourceRef[];
  start: (signal: AbortSignal) => void;
}

/** Kinds that a controller watches whole. */
function kindsOf({ for: own, reads = [], watches = [] }: Controller): ResourceRef[] {
  return [own, ...reads, ...watches.filter((rule) => !rule.namespace && !rule.labelSelector).map((rule) => rule.ref)];
}

export interface OfficesOptions {
  client: KubeClient;
  watches: Watches;
  identity: string;
  timing: LeaderTiming;
  signal: AbortSignal;
  log: Logger;
}

/** Stands for election to each post. */
export function runPosts(posts: readonly Post[], options: OfficesOptions): Elected[] {
  return posts.map(({ operation, warm, open }) => runElected({ ...options, platform: PLATFORM, namespace: SYSTEM_NAMESPACE, name: `leader-${operation}`, warm, open }));
}
