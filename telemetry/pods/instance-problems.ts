// Lines about instances that runners of pods report as broken: what only the LRP's status says, such as a failed probe or an image that cannot be pulled.
import type { Informers } from "../../kube/cache/informers.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { LRP, type LrpInstance } from "../../crds/lrp/lrp.ts";
import type { LogRing } from "../log-ring.ts";

/** Permissions to read what runners report. */
export const INSTANCE_PROBLEM_PERMISSIONS: readonly Permission[] = [
  { resource: LRP, verbs: LIST_WATCH_VERBS },
  { resource: BackendClass, verbs: LIST_WATCH_VERBS },
];

export interface InstanceProblemsOptions {
  informers: Pick<Informers, "ensure">;
  ring: LogRing;
  /** Whether this replica currently owns a source. */
  owns: (source: string) => boolean;
}

/** Writes a line of source CELL when an instance gets other `details`. Returns a function that ends it. */
export function startInstanceProblems({ informers, ring, owns }: InstanceProblemsOptions): () => void {
  const classes = informers.ensure(BackendClass);
  const lrps = informers.ensure(LRP);
  /** Details that were said, by LRP and index. */
  const said = new Map<string, Map<number, string>>();

  /** A class that publishes an endpoint keeps its own log. */
  const hasOwnLog = (name: string): boolean =>
    !classes.store.synced || classes.store.find({ name })?.status?.endpoint !== undefined;
  const write = (lrp: LRP): void => {
    if (hasOwnLog(lrp.spec.class) || !owns(lrp.spec.app.guid)) return;
    const uid = lrp.metadata.uid ?? "";
    const known = said.get(uid) ?? new Map<number, string>();
    said.set(uid, known);
    for (const { index, message } of listNews(lrp.status?.instances ?? [], known))
      ring.log({
        source: lrp.spec.app.guid,
        sourceType: "CELL",
        message,
        stream: "ERR",
        instance: String(index),
        tags: { process_id: lrp.spec.processGUID, process_type: lrp.spec.processType },
      });
  };
  const stopListening = lrps.store.onChange((change) => {
    if (change.type === "deleted") said.delete(change.object.metadata.uid ?? "");
    else if (lrps.store.synced) write(change.object);
  });
  return () => {
    stopListening();
    lrps.release();
    classes.release();
  };
}

/** Exits are in the container's own log already. */
const EXIT = /^APP\/PROC\/[^:]*: Exited with /;

/** The problems that were not said yet. Updates `known`; an instance that runs forgets its last problem. */
export function listNews(
  instances: readonly LrpInstance[],
  known: Map<number, string>,
): { index: number; message: string }[] {
  return instances.flatMap(({ index, state, details }) => {
    if (state === "Running" && details === undefined) known.delete(index);
    if (details === undefined || EXIT.test(details) || known.get(index) === details) return [];
    known.set(index, details);
    return [{ index, message: details }];
  });
}
