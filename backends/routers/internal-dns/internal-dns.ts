// The router class `internal-dns`: names of internal domains lead to the instances themselves, by a DNS server that the cluster's DNS asks.
import { INTERNAL_DNS_CLASS } from "../../../crds/backend-class/choose-router.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { LRP, type LrpInstance } from "../../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { InformerHandle, Informers } from "../../../kube/cache/informers.ts";
import { defineController, watch, type Controller } from "../../../kube/controller/controller.ts";
import { classController } from "../../class-controller.ts";
import { destinationNamespace, type RouteDestination } from "../services/plan.ts";
import { judgeInstances } from "../services/ready-instances.ts";
import type { NamesView } from "./resolve.ts";

/** Routes of other domains are left to the default router. */
export const internalDNSCapabilities: Readonly<Record<string, string>> = {
  internal: "dns",
  crossSpace: "true",
  destinations: "100",
  tcp: "any",
  wildcardDepth: "0",
};

const APP_INDEX = "routers/internal-dns-app";
const HOST_INDEX = "routers/internal-dns-host";

/** The controllers of the class: what RouteBindings say of themselves, and the class's capabilities. */
export function internalDNSRouter(): Controller[] {
  return [
    bindingController,
    classController({ name: INTERNAL_DNS_CLASS, role: "router", capabilities: internalDNSCapabilities }),
  ];
}

const isOurs = ({ spec }: RouteBinding): boolean => spec.class === INTERNAL_DNS_CLASS;

const bindingController = defineController({
  name: "internal-dns-router",
  for: RouteBinding,
  indexes: { [APP_INDEX]: ({ spec }: RouteBinding) => [...new Set(spec.destinations.map(({ appGUID }) => appGUID))] },
  watches: [watch(LRP, ({ spec }) => ({ [APP_INDEX]: spec.app.guid }))],
  selects: isOurs,
  writesObject: false,

  reconcile(binding, { read, now }) {
    const { hostname, destinations, internal } = binding.spec;
    if (!internal) return { ready: NOT_INTERNAL };
    const lrps = [...new Set(destinations.map((each) => destinationNamespace(binding, each)))].flatMap((namespace) =>
      read.list(LRP, { namespace }),
    );
    const { ready, requeueAfterMs } = judgeInstances({ destinations, lrps, now: now() });
    return {
      ready: ready ?? { status: "True", reason: "Routed", message: `${hostname} is a name in the cluster's DNS` },
      ...(requeueAfterMs !== undefined && { requeueAfterMs }),
    };
  },
});

const NOT_INTERNAL = {
  status: "False",
  reason: "NotSupported",
  message: `class ${INTERNAL_DNS_CLASS} serves internal routes only; choose another router for the domain`,
  isFailure: true,
} as const;

/** The names as the caches have them. `release` ends the watches. */
export function watchNames(informers: Informers): NamesView & { release(): void } {
  const domains = informers.ensure(Domain);
  const bindings = informers.ensure(RouteBinding, {
    indexes: { [HOST_INDEX]: (binding) => (isServed(binding) ? [binding.spec.hostname.toLowerCase()] : []) },
  });
  const lrps = informers.ensure(LRP);
  return {
    isSynced: () => [domains, bindings, lrps].every(({ store }) => store.synced),
    listDomains: () =>
      domains.store
        .list({ namespace: SYSTEM_NAMESPACE })
        .flatMap(({ spec }) => (spec.internal ? [spec.name.toLowerCase()] : [])),
    findBinding: (hostname) => bindings.store.byIndex(HOST_INDEX, hostname)[0],
    listInstances: (binding) =>
      listProcesses(binding).flatMap((destination) => instancesOf(binding, destination, lrps)),
    release: () => [domains, bindings, lrps].forEach((handle) => handle.release()),
  };
}

function isServed(binding: RouteBinding): boolean {
  return isOurs(binding) && binding.spec.internal && !binding.metadata.deletionTimestamp;
}

/** Destinations that differ in their port have the same instances. */
function listProcesses(binding: RouteBinding): RouteDestination[] {
  const processes = binding.spec.destinations.map((each): [string, RouteDestination] => [
    `${destinationNamespace(binding, each)}/${each.appGUID}/${each.processType}`,
    each,
  ]);
  return [...new Map(processes).values()];
}

function instancesOf(
  binding: RouteBinding,
  destination: RouteDestination,
  { store }: Pick<InformerHandle<LRP>, "store">,
): LrpInstance[] {
  const labels = { [LABELS.app]: destination.appGUID };
  return store
    .list({ namespace: destinationNamespace(binding, destination), labels })
    .filter(({ spec }) => spec.app.guid === destination.appGUID && spec.processType === destination.processType)
    .flatMap(({ status }) => status?.instances ?? []);
}

/** Kinds that the DNS server watches besides those of the controllers. */
export const INTERNAL_DNS_KINDS: readonly ResourceRef[] = [Domain, RouteBinding, LRP];
