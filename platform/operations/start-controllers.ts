// What this process does: backends and controllers that every replica runs, and those that one replica runs for all.
import type { Elected } from "../../kube/lease/leader-work.ts";
import { rememberLast } from "../../kube/cache/memoize-last.ts";
import { runControllers, type ControllerRun } from "../../kube/controller/run-controllers.ts";
import type { Waiting } from "../../kube/cache/unsynced-watches.ts";
import { createControllers } from "../../controllers/controllers.ts";
import { backendsOf, translators, type Backend } from "./backends.ts";
import { blobRemoval } from "./blob-removal.ts";
import { postOf, runPosts, type Post } from "../leases/singletons.ts";
import type { Parts, Side } from "../platform-context.ts";
import { leaseTiming } from "../leases/replica-membership.ts";
import { PLATFORM } from "./controller-settings.ts";
import { describeBehind, judgeGaps } from "../readiness.ts";

/** The backends that every replica runs at once. */
export async function startBackends(parts: Parts, side: Side | undefined): Promise<Backend[]> {
  const { options, readiness, ends, fate } = parts;
  const backends = backendsOf(options.operations).filter(({ elected }) => !elected);
  return Promise.all(
    backends.map(async ({ operation, make }) => {
      const backend = make({ ...backendDeps(parts, side), client: parts.client, holds: () => true });
      ends.defer(() => backend.stop(fate.instances));
      await backend.start();
      readiness.expect(operation, () => (backend.ready?.() ?? true) || "what it serves has not been listed yet");
      return backend;
    }),
  );
}

function backendDeps({ watches, blobs, options, log }: Parts, side: Side | undefined): Omit<Parameters<ReturnType<typeof backendsOf>[number]["make"]>[0], "client" | "holds"> {
  if (!side?.telemetry || !side.server) throw new Error("a backend needs the telemetry side of its process");
  return { watches, telemetry: side.telemetry, blobs, data: options.data, log, endpoint: { url: side.server.url, secretRef: side.secretRef } };
}

/** The controllers that every replica runs at once; undefined when there are none. */
export function startControllers({ client, watches, blobs, log, options, ends, readiness, apiURL }: Parts, backends: readonly Backend[]): ControllerRun | undefined {
  const own = options.operations.includes("controllers") ? createControllers({ apiURL, hasContent: (space, digest) => blobs.has(space, digest) }) : [];
  const controllers = [...own, ...translators(options.operations), ...backends.flatMap((backend) => backend.controllers)].filter(({ kind }) => kind !== "singleton");
  if (controllers.length === 0) return undefined;
  const halt = new AbortController();
  const run = runControllers({ client, controllers, watches, platform: PLATFORM, signal: halt.signal, log });
  ends.defer(() => {
    halt.abort();
    return run.stopped;
  });
  const judge = rememberLast((waiting: readonly Waiting[]) => judgeGaps(waiting.flatMap(({ watches: gaps }) => gaps)));
  readiness.expect("controllers", () => judge(run.waiting()));
  readiness.expect("caches of controllers", () => describeBehind(run.behind()));
  return run;
}

/** What one replica does for all. */
export function startPosts(parts: Parts, side: Side | undefined, backends: readonly Backend[]): Elected[] {
  const { client, watches, log, options, ends, readiness, membership } = parts;
  const posts = [...backendPosts(parts, side), ...controllerPosts(parts, backends)];
  const halt = new AbortController();
  const identity = options.leader ?? membership.identity;
  const elected = runPosts(posts, { client, watches, identity, timing: leaseTiming(options.leaseSeconds).leader, signal: halt.signal, log });
  ends.defer(async () => {
    halt.abort();
    await Promise.all(elected.map((each) => each.stopped));
  });
  for (const each of elected) {
    const judge = rememberLast(judgeGaps);
    readiness.expect(each.name, () => judge(each.waiting()));
    readiness.expect(`caches of ${each.name}`, () => describeBehind(each.behind()));
  }
  return elected;
}

function backendPosts(parts: Parts, side: Side | undefined): Post[] {
  return backendsOf(parts.options.operations).flatMap(({ operation, make, elected }) => {
    if (!elected) return [];
    const open: Post["open"] = (term, client) => {
      const backend = make({ ...backendDeps(parts, side), client, holds: () => term.holds() });
      return { controllers: backend.controllers, start: () => backend.start(), stop: () => backend.stop(parts.fate.instances) };
    };
    return [{ operation, warm: elected, open }];
  });
}

function controllerPosts({ blobs, watches, log, options }: Parts, backends: readonly Backend[]): Post[] {
  const { operations } = options;
  const removal = operations.includes("controllers") ? postOf("controllers", [], [blobRemoval({ blobs, read: watches.read, log })]) : undefined;
  const routers = operations.includes("local-router") ? postOf("local-router", backends.flatMap(({ controllers }) => controllers)) : undefined;
  return [removal, routers].filter((post) => post !== undefined);
}
