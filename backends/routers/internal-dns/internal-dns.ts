// The router class `internal-dns`: names of internal domains lead to the instances themselves, by a DNS server that the cluster's DNS asks.
import { INTERNAL_DNS_CLASS } from "../../../crds/backend-class/choose-router.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { RouteBinding } from "../../../crds/route-binding/route-binding.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { Informers } from "../../../kube/cache/informers.ts";
import { defineController, watch, type Controller } from "../../../kube/controller/controller.ts";
import { classController } from "../../class-controller.ts";
import { destinationNamespace } from "../services/plan.ts";
import { judgeInstances } from "../services/ready-instances.ts";
import { rememberAddresses } from "./addresses.ts";
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
const DOMAIN_INDEX = "routers/internal-dns-domain";
const PROCESS_INDEX = "routers/internal-dns-process";

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
  const domains = informers.ensure(Domain, {
    indexes: { [DOMAIN_INDEX]: (domain) => (isServedDomain(domain) ? [domain.spec.name.toLowerCase()] : []) },
  });
  const bindings = informers.ensure(RouteBinding, {
    indexes: { [HOST_INDEX]: (binding) => (isServed(binding) ? [binding.spec.hostname.toLowerCase()] : []) },
  });
  const lrps = informers.ensure(LRP, {
    indexes: {
      [PROCESS_INDEX]: ({ metadata, spec }) => [processKey(metadata.namespace, spec.app.guid, spec.processType)],
    },
  });
  const addressesOf = rememberAddresses();
  return {
    isSynced: () => [domains, bindings, lrps].every(({ store }) => store.synced),
    hasDomain: (name) => domains.store.byIndex(DOMAIN_INDEX, name).length > 0,
    findBinding: (hostname) => bindings.store.byIndex(HOST_INDEX, hostname)[0],
    findAddresses: (binding) =>
      addressesOf(
        binding,
        listProcesses(binding).flatMap((key) => lrps.store.byIndex(PROCESS_INDEX, key)),
      ),
    release: () => [domains, bindings, lrps].forEach((handle) => handle.release()),
  };
}

function isServedDomain({ metadata, spec }: Domain): boolean {
  return metadata.namespace === SYSTEM_NAMESPACE && spec.internal;
}

function isServed(binding: RouteBinding): boolean {
  return isOurs(binding) && binding.spec.internal && !binding.metadata.deletionTimestamp;
}

/** Destinations that differ in their port have the same instances. */
function listProcesses(binding: RouteBinding): string[] {
  const { destinations } = binding.spec;
  return [
    ...new Set(
      destinations.map((each) => processKey(destinationNamespace(binding, each), each.appGUID, each.processType)),
    ),
  ];
}

const processKey = (namespace: string | undefined, appGUID: string, processType: string): string =>
  `${namespace}/${appGUID}/${processType}`;

/** Kinds that the DNS server watches besides those of the controllers. */
export const INTERNAL_DNS_KINDS: readonly ResourceRef[] = [Domain, RouteBinding, LRP];
