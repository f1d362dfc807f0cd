// All instances of one LRP: one slot for each index, their status and their stats.
import { wantedIndexes } from "../../../crds/lrp/index-pool.ts";
import type { LRP, LrpInstance } from "../../../crds/lrp/lrp.ts";
import type { InstanceState, InstanceStats } from "../../../telemetry/envelope.ts";
import type { RunnerContext } from "./runner-context.ts";
import { omitUndefined } from "../../../kube/api/omit-undefined.ts";
import { type LrpStatus, presentStatus } from "../../lrp-status.ts";
import { planSlots, restartValue } from "./plan.ts";
import type { InstanceRecord } from "./instance-record.ts";
import { openInstanceSlot, type InstanceSlot } from "./instance-slot.ts";

export interface LrpInstances {
  /** Opens, closes and restarts slots for a new version of the object. Does not wait. Does nothing after `stop` or `leave`. */
  setDesired(lrp: LRP): void;
  status(): LrpStatus;
  stats(): InstanceStats[];
  /** The current run of an index; undefined between two runs. */
  record(index: number): InstanceRecord | undefined;
  /** The object of the last `setDesired`. */
  lrp(): LRP;
  /** Resolves when no process is left, those of closed slots included. */
  stop(): Promise<void>;
  leave(): Promise<void>;
}

/** `adoptRecord` returns the instance that an earlier run of the platform left for an index, once. */
export interface LrpInstancesOptions {
  context: RunnerContext;
  lrp: LRP;
  adoptRecord: (index: number) => InstanceRecord | undefined;
  onChange: () => void;
}

/** Opens the slots of an LRP. */
export function openLrpInstances({ context, lrp: first, adoptRecord, onChange }: LrpInstancesOptions): LrpInstances {
  const slots = new Map<number, { slot: InstanceSlot; restart: string | undefined }>();
  const closing = new Set<Promise<void>>();
  let lrp = first;
  let ended = false;

  const close = (index: number): void => {
    const open = slots.get(index);
    if (!open) return;
    slots.delete(index);
    const closed = open.slot.stop().finally(() => closing.delete(closed));
    closing.add(closed);
  };
  const open = (index: number): void => {
    const record = adoptRecord(index);
    const restart = record ? record.restart : restartValue(lrp.spec, index);
    slots.set(index, {
      restart,
      slot: openInstanceSlot({ context, lrp, index, restart, onChange, ...(record && { adopt: record }) }),
    });
  };
  const apply = (): void => {
    // An adopted slot may have an older restart value. The second plan restarts it.
    for (const index of planSlots(openSlots(slots), lrp.spec).open) open(index);
    const plan = planSlots(openSlots(slots), lrp.spec);
    for (const index of plan.close) close(index);
    for (const { index, value } of plan.restart) {
      const known = slots.get(index);
      if (!known) continue;
      known.restart = value;
      known.slot.restart(value);
    }
  };
  apply();
  return {
    setDesired(next) {
      if (ended) return;
      lrp = next;
      apply();
    },
    lrp: () => lrp,
    status: () =>
      presentStatus(
        [...slots.values()].map(({ slot }) => slot.status()),
        wantedIndexes(lrp.spec).length,
      ),
    record: (index) => slots.get(index)?.slot.record(),
    stats: () => [...slots.values()].map(({ slot }) => presentStats(context, lrp, slot)),
    async stop() {
      ended = true;
      for (const index of [...slots.keys()].sort((a, b) => b - a)) close(index);
      await Promise.all(closing);
    },
    async leave() {
      ended = true;
      await Promise.all([...[...slots.values()].map(({ slot }) => slot.leave()), ...closing]);
    },
  };
}

function openSlots(
  slots: ReadonlyMap<number, { restart: string | undefined }>,
): { index: number; restart: string | undefined }[] {
  return [...slots].map(([index, { restart }]) => ({ index, restart }));
}

const states: Readonly<Record<LrpInstance["state"], InstanceState>> = {
  Starting: "STARTING",
  Running: "RUNNING",
  Crashed: "CRASHED",
  Down: "DOWN",
};

function presentStats(context: RunnerContext, lrp: LRP, slot: InstanceSlot): InstanceStats {
  const { state, ready, since, details } = slot.status();
  const { guid = "", ports = [], process, startedAt } = slot.record() ?? {};
  const host = process ? context.address : "";
  const now = context.now();
  const usage = slot.usage() ?? { at: now.getTime(), cpu: 0, mem: 0, disk: 0, logRate: 0 };
  return {
    app: lrp.spec.app.guid,
    process: lrp.spec.processGUID,
    processType: lrp.spec.processType,
    lrp: lrp.metadata.uid ?? "",
    lrpKey: `${lrp.metadata.namespace}/${lrp.metadata.name}`,
    index: slot.index,
    instanceGuid: guid,
    state: states[state],
    routable: ready,
    since: since ?? now.toISOString(),
    uptime: secondsSince(process && startedAt, now),
    host,
    internalIp: host,
    ports: ports.map(({ hostPort }) => ({ external: hostPort, internal: hostPort })),
    memoryQuota: lrp.spec.memoryMB * 2 ** 20,
    diskQuota: lrp.spec.diskMB * 2 ** 20,
    fdsQuota: 16_384,
    usage: {
      time: new Date(usage.at).toISOString(),
      cpu: usage.cpu,
      mem: usage.mem,
      disk: usage.disk,
      ...omitUndefined({ logRate: usage.logRate }),
    },
    ...(details !== undefined && { details }),
  };
}

function secondsSince(start: string | undefined, now: Date): number {
  return start ? Math.max(0, Math.floor((now.getTime() - Date.parse(start)) / 1000)) : 0;
}
