// A new leader continues the usage log that it finds.
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { anApp, aProcess, makeObject } from "../../crds/testing/objects.ts";
import { toProcessUsage } from "../../crds/usage-log/process-usage.ts";
import { seedUsage } from "../../crds/usage-log/rules.ts";
import { UsageLog, type AppUsageEvent } from "../../crds/usage-log/usage-log.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createUsageRecorder } from "./usage-recorder.ts";

type Listener = (change: Change<KubeObject>) => void;

/** Watches these objects. Their space is not there, or not yet. */
function start(objects: readonly KubeObject[], fault?: Error) {
  const errors: string[] = [];
  const listeners = new Map<string, Listener>();
  const written: AppUsageEvent[] = [];
  const ofKind = (kind: string): KubeObject[] => objects.filter((one) => one.kind === kind);
  const informers = {
    store: ({ kind }: { kind: string }) => ({
      addIndex: () => undefined,
      onChange: (listener: Listener) => {
        listeners.set(kind, listener);
        return () => undefined;
      },
    }),
    read: {
      list: ({ kind }: { kind: string }) => {
        if (fault && kind === "Process") throw fault;
        return ofKind(kind);
      },
      find: ({ kind }: { kind: string }, { name }: { name: string }) =>
        ofKind(kind).find(({ metadata }) => metadata.name === name),
      byUid: ({ kind }: { kind: string }, uid: string) => ofKind(kind).find(({ metadata }) => metadata.uid === uid),
    },
  } as unknown as Informers;
  const client = {
    create: (_ref: unknown, { spec }: UsageLog) => Promise.resolve(written.push(...spec.events)),
    patch: (_ref: unknown, _key: unknown, { body }: { body: { value: AppUsageEvent }[] }) =>
      Promise.resolve(written.push(...body.map(({ value }) => value))),
  } as unknown as KubeClient;
  const log = pino({ level: "warn" }, { write: (line) => void errors.push(line) });
  const leading = new AbortController();
  const task = createUsageRecorder({ informers, log, writer: "next" });
  const ended = task.start(leading.signal, client);
  return {
    errors,
    remove: (object: KubeObject) =>
      listeners.get(object.kind)?.({ type: "deleted", object, old: object, initial: false }),
    /** Ends it. @returns what it recorded */
    stop: async (): Promise<string[]> => {
      leading.abort();
      await ended;
      return written.map(({ state, process }) => `${process?.guid ?? ""} ${state.current}`);
    },
  };
}

const app = anApp({ state: "Started" });
const [worker, gone] = ["worker", "gone"].map((type) =>
  aProcess({ type }, { metadata: { name: `shop.${type}`, uid: `uid-${type}` } }),
) as [KubeObject & ReturnType<typeof aProcess>, ReturnType<typeof aProcess>];
const running = [worker, gone].map((process) =>
  toProcessUsage({ process, app, droplet: undefined }, { space: { guid: "S", name: "dev" }, orgGUID: "O" }),
);
const usageLog = makeObject(UsageLog, "usage-1", {
  spec: { writer: "before", events: seedUsage(running, 1, new Date(0)) },
  metadata: { namespace: SYSTEM_NAMESPACE },
});

test("what still runs has not ended because its space cannot be read; what is gone has", async () => {
  expect(await start([usageLog, app, worker]).stop()).toEqual(["uid-gone STOPPED"]);
});

test("what is deleted while its space cannot be read has ended", async () => {
  const recorder = start([usageLog, app, worker, gone]);
  recorder.remove(gone);
  expect(await recorder.stop()).toEqual(["uid-gone STOPPED"]);
});

test("an error is logged once; a cache that cannot be read now is none", async () => {
  const broken = start([usageLog, app, worker], new TypeError("x is not a function"));
  broken.remove(worker);
  await vi.waitFor(() => expect(broken.errors.join()).toContain("x is not a function"), { timeout: 30_000 });
  await broken.stop();
  expect(broken.errors).toHaveLength(1);
  const parked = start([usageLog, app, worker], new NotSynced("processes"));
  await parked.stop();
  expect(parked.errors).toEqual([]);
});
