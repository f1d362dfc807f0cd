// Which changes enqueue the RouteBindings of a class, and the LRPs that a binding's verdict rests on.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import type { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { IndexFunction, Reader } from "../../../kube/cache/reader.ts";
import { watch, type WatchRule } from "../../../kube/controller/controller.ts";
import { destinationNamespace, servedDestinations } from "./plan.ts";
import { indexByService, SERVICE_INDEX, SERVICE_WATCH } from "./services.ts";

export const CLASS_INDEX = "routers/class";
const APP_INDEX = "routers/app";

/** Indexes of RouteBindings for these watches. */
export const BINDING_INDEXES: Readonly<Record<string, IndexFunction<RouteBinding>>> = {
  [SERVICE_INDEX]: indexByService,
  [CLASS_INDEX]: (binding) => [binding.spec.class],
  [APP_INDEX]: (binding) => [...new Set(servedDestinations(binding).map(({ appGUID }) => appGUID))],
};

export const BINDING_WATCHES: readonly WatchRule[] = [
  SERVICE_WATCH,
  watch(BackendClass, ({ metadata, spec }) => (spec.role === "router" ? { [CLASS_INDEX]: metadata.name } : [])),
  watch(LRP, ({ spec }) => ({ [APP_INDEX]: spec.app.guid })),
];

/** The LRPs of the apps behind a binding. */
export function listDestinationLRPs(binding: RouteBinding, read: Reader): LRP[] {
  const namespaces = new Map(
    servedDestinations(binding).map((each) => [each.appGUID, destinationNamespace(binding, each)]),
  );
  return [...namespaces].flatMap(([guid, namespace]) => read.list(LRP, { namespace, labels: { [LABELS.app]: guid } }));
}
