// Says of an Adjustment which of its fields are in force. The app's next Revision takes it up (controllers/app/snapshot.ts).
import { Adjustment } from "../../crds/adjustment/adjustment.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { findClass, isClassProblem } from "../../crds/backend-class/find-class.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Process } from "../../crds/process/process.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import {
  defineController,
  NotReady,
  watch,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { toOwnerReference } from "../shared/app-owned.ts";
import { GUID_INDEX, indexByGUID, resolveGUID } from "../shared/guid.ts";
import { planAdjustment } from "./plan.ts";

/** Index of Adjustments; its values are `namespace/process`. */
const PROCESS_INDEX = "controllers/adjusted-process";

const processKey = (namespace: string | undefined, name: string): string => `${namespace ?? ""}/${name}`;

export const adjustmentController = defineController({
  name: "adjustment",
  for: Adjustment,
  reads: [LRP],
  indexes: {
    [GUID_INDEX]: indexByGUID,
    [PROCESS_INDEX]: ({ metadata, spec }: Adjustment) => [processKey(metadata.namespace, spec.processRef.name)],
  },
  watches: [
    watch(Process, ({ metadata }) => ({ [PROCESS_INDEX]: processKey(metadata.namespace, metadata.name) })),
    watch(BackendClass, ({ spec }, read) =>
      spec.role === "runner" ? read.list(Adjustment).map(({ metadata }) => metadata) : [],
    ),
  ],
  reconcile: reconcileAdjustment,
});

function reconcileAdjustment(adjustment: Adjustment, context: ReconcileContext): ReconcileResult {
  const { read } = context;
  const { labels } = resolveGUID(Adjustment, adjustment, context);
  const { namespace } = adjustment.metadata;
  const { name } = adjustment.spec.processRef;
  const process = read.find(Process, { namespace, name });
  if (!process) throw new NotReady("ProcessMissing", `process ${name} does not exist in this namespace`);
  return {
    labels,
    ownerReferences: [toOwnerReference(process, Process)],
    ...planAdjustment(adjustment, {
      backend: getRunner(process, read),
      all: read.byIndex(Adjustment, PROCESS_INDEX, processKey(namespace, name), namespace),
      lrp: process.status?.lrp === undefined ? undefined : read.find(LRP, { namespace, name: process.status.lrp }),
    }),
  };
}

/** @throws NotReady */
function getRunner({ spec }: Process, read: Reader): BackendClass {
  const found = findClass(read.list(BackendClass), { role: "runner", className: spec.runner });
  if (isClassProblem(found)) throw new NotReady(found.reason, found.message, { isFailure: true });
  return found;
}
