// The offerings and plans of a broker: those of its catalog, and those that left it while instances use them. Pure.
import { isDeepStrictEqual } from "node:util";
import { deriveGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { generatedName } from "../../crds/object-names.ts";
import { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { ServicePlan } from "../../crds/service-plan/service-plan.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { Catalog, CatalogPlan, CatalogService } from "../shared/osb/catalog.ts";

/** The broker whose catalog it is. */
export interface CatalogOwner {
  namespace: string;
  name: string;
  guid: string;
  /** Ids of offerings that are left out. */
  purged: readonly string[];
}

/** An offering or a plan. */
export type CatalogDraft = Draft & { spec: object };

export interface KnownCatalog {
  offerings: readonly ServiceOffering[];
  plans: readonly ServicePlan[];
}

/** All objects that the broker is to have. What is kept only because instances use it is not available any more. */
export function planCatalog(
  owner: CatalogOwner,
  { services }: Catalog,
  known: KnownCatalog,
  isInUse: (plan: ServicePlan) => boolean,
): CatalogDraft[] {
  const current = services
    .map((service, position) => ({ service, position }))
    .filter(({ service }) => !owner.purged.includes(service.id))
    .flatMap(({ service, position }) => [
      toOffering(owner, service, position),
      ...service.plans.map((plan, at) => toPlan(owner, service, { plan, position: at })),
    ]);
  const names = new Set(current.map(({ kind, metadata }) => `${kind ?? ""} ${metadata.name}`));
  const plans = known.plans.filter(({ metadata }) => !names.has(`ServicePlan ${metadata.name}`)).filter(isInUse);
  const offeringsOfKept = new Set(plans.map(({ spec }) => spec.offeringRef.name));
  const offerings = known.offerings.filter(
    ({ metadata: { name } }) => !names.has(`ServiceOffering ${name}`) && offeringsOfKept.has(name),
  );
  return [
    ...current,
    ...offerings.map(({ metadata, spec }) =>
      toDraft(owner, ServiceOffering, { name: metadata.name, id: spec.catalogID, spec: { ...spec, available: false } }),
    ),
    ...plans.map(({ metadata, spec: { visibility: _, ...spec } }) =>
      toDraft(owner, ServicePlan, { name: metadata.name, id: spec.catalogID, spec: { ...spec, available: false } }),
    ),
  ];
}

/** The desired objects that exist already, and at most so many more to create or change, in the catalog's order. */
export function planSlice(
  wanted: readonly CatalogDraft[],
  known: KnownCatalog,
  most: number,
): { children: CatalogDraft[]; isAll: boolean } {
  const live = new Map([...known.offerings, ...known.plans].map((one) => [nameOf(one), one]));
  let changes = 0;
  const children = wanted.flatMap((draft) => {
    const before = live.get(nameOf(draft));
    if (before && isSameEntry(draft, before)) return [draft];
    changes += 1;
    if (changes <= most) return [draft];
    // As it is, since what is left out would be deleted.
    return before ? [{ ...draft, spec: withoutVisibility(before) }] : [];
  });
  return { children, isAll: changes <= most };
}

const nameOf = ({ kind, metadata }: { kind?: string; metadata: { name?: string } }): string =>
  `${kind ?? ""} ${metadata.name ?? ""}`;

function isSameEntry(draft: CatalogDraft, live: ServiceOffering | ServicePlan): boolean {
  return isDeepStrictEqual(draft.spec, withoutVisibility(live));
}

function withoutVisibility({ spec }: ServiceOffering | ServicePlan): object {
  const { visibility: _, ...rest } = spec as { visibility?: unknown };
  return rest;
}

/** By id, since a broker may rename what it offers. */
function offeringName(owner: CatalogOwner, service: string): string {
  return generatedName(owner.name, `${owner.name}/${service}`);
}

function toOffering(owner: CatalogOwner, service: CatalogService, position: number): CatalogDraft {
  return toDraft(owner, ServiceOffering, {
    name: offeringName(owner, service.id),
    id: service.id,
    spec: {
      name: service.name,
      brokerRef: { name: owner.name },
      catalogID: service.id,
      position,
      description: service.description,
      tags: service.tags ?? [],
      requires: service.requires ?? [],
      bindable: service.bindable,
      bindingsRetrievable: service.bindings_retrievable === true,
      instancesRetrievable: service.instances_retrievable === true,
      planUpdateable: service.plan_updateable === true,
      allowContextUpdates: service.allow_context_updates === true,
      ...(service.dashboard_client === true && { dashboardClient: true }),
      ...fromMetadata(service.metadata),
      available: true,
    },
  });
}

function fromMetadata(metadata: CatalogService["metadata"]): object {
  if (!metadata) return { shareable: false };
  const { documentationUrl, shareable } = metadata;
  // Brokers put all sorts of things there.
  const isAddress = typeof documentationUrl === "string" && documentationUrl.length <= 2048;
  return {
    shareable: shareable === true,
    ...(isAddress && { documentationURL: documentationUrl }),
    metadata: JSON.stringify(metadata),
  };
}

function toPlan(
  owner: CatalogOwner,
  service: CatalogService,
  { plan, position }: { plan: CatalogPlan; position: number },
): CatalogDraft {
  const { metadata, schemas, maintenance_info: maintenance } = plan;
  const costs = metadata === undefined ? [] : toCosts(JSON.parse(metadata));
  return toDraft(owner, ServicePlan, {
    name: generatedName(owner.name, `${owner.name}/${service.id}/${plan.id}`),
    id: `${service.id}/${plan.id}`,
    spec: {
      name: plan.name,
      offeringRef: { name: offeringName(owner, service.id) },
      catalogID: plan.id,
      position,
      description: plan.description,
      free: plan.free ?? true,
      ...toAbilities(plan),
      ...(costs.length > 0 && { costs: JSON.stringify(costs) }),
      ...(metadata !== undefined && { metadata }),
      ...(schemas !== undefined && { schemas }),
      ...(maintenance && { maintenanceInfo: toMaintenance(maintenance) }),
      ...(plan.maximum_polling_duration && { maximumPollingDuration: plan.maximum_polling_duration }),
      available: true,
    },
  });
}

/** Where a plan says nothing, its offering does. */
function toAbilities({ bindable, plan_updateable: updateable, binding_rotatable: rotatable }: CatalogPlan): object {
  return {
    ...(typeof bindable === "boolean" && { bindable }),
    ...(typeof updateable === "boolean" && { planUpdateable: updateable }),
    ...(rotatable === true && { bindingRotatable: true }),
  };
}

function toMaintenance({ version, description }: { version: string; description?: string | null | undefined }): object {
  return { version, ...(description && { description }) };
}

function toDraft(
  { namespace, guid }: CatalogOwner,
  ref: typeof ServiceOffering | typeof ServicePlan,
  { name, id, spec }: { name: string; id: string; spec: object },
): CatalogDraft {
  return {
    apiVersion: apiVersionOf(ref),
    kind: ref.kind,
    metadata: {
      name,
      namespace,
      labels: { [LABELS.guid]: deriveGUID(ref.kind, guid, id), [LABELS.serviceBroker]: guid },
    },
    spec,
  };
}

/** CF shows a line for each currency: `{ amount, currency, unit }`. What does not have the form that brokers agreed on is left out. */
function toCosts(metadata: unknown): { amount: number; currency: string; unit: string }[] {
  const { costs } = (metadata ?? {}) as { costs?: unknown };
  if (!Array.isArray(costs)) return [];
  return costs.flatMap((cost: unknown) => {
    const { amount, unit } = (cost ?? {}) as { amount?: unknown; unit?: unknown };
    if (typeof amount !== "object" || amount === null || typeof unit !== "string") return [];
    return Object.entries(amount).flatMap(([currency, value]: [string, unknown]) =>
      typeof value === "number" ? [{ amount: value, currency: currency.toUpperCase(), unit }] : [],
    );
  });
}
