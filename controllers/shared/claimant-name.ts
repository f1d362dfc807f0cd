// The current name of a claimant, which decides whether its claim is still valid.
import { App } from "../../crds/app/app.ts";
import {
  appName,
  domainName,
  orgName,
  routeName,
  spaceName,
  type Claimant,
  type ClaimedName,
} from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import type { KubeObject, ObjectKey } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { findEffectiveDomain } from "./domains.ts";
import { findTenancy } from "./tenancy.ts";

/** Reads the claimant from the cache, or live (`client.find`). */
export type FindObject = <T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey) => Promise<T | undefined>;

interface ClaimantLookup {
  find: FindObject;
  /** Reads the claimant's namespaces and domains. */
  read: Reader;
}

const CLAIMED_NAME_BY_KIND: Readonly<
  Record<string, (at: Claimant, sight: ClaimantLookup) => Promise<ClaimedName | undefined>>
> = {
  Org: async (at, { find }) => applyIfFound(await find(Org, at), orgName),
  Space: async (at, { find }) => applyIfFound(await find(Space, at), spaceName),
  App: async (at, { find }) => applyIfFound(await find(App, at), appName),
  Domain: async (at, { find }) => applyIfFound(await find(Domain, at), domainName),
  Route: async (at, { find, read }) => {
    const route = await find(Route, at);
    if (!route) return undefined;
    const place = findTenancy(read, at.namespace ?? "");
    const domain = place && findEffectiveDomain(read, route, place);
    return domain && routeName(route, domain.spec.name);
  },
};

/** Returns undefined when the claimant does not exist, or its kind claims no names. */
export async function findClaimantName(claimant: Claimant, lookup: ClaimantLookup): Promise<ClaimedName | undefined> {
  return await CLAIMED_NAME_BY_KIND[claimant.kind]?.(claimant, lookup);
}

function applyIfFound<T>(object: T | undefined, name: (object: T) => ClaimedName): ClaimedName | undefined {
  return object && name(object);
}
