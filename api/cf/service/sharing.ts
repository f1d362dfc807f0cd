// Service instances that spaces share with each other: whether one may be shared, and the names that they have there.
import { displayNameOf } from "../../../crds/object-names.ts";
import { findSharingProblem } from "../../../crds/service-instance/sharing.ts";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";
import { unprocessable } from "../../http/errors.ts";
import { offeringOf, orgNameOf, planOf } from "./catalog.ts";

/** Instances of other spaces that are shared with the space of a namespace. */
export function listSharedWith(cache: ClusterCache, namespace: string): readonly ServiceInstance[] {
  return cache.store(ServiceInstance).byIndex("sharedWith", namespace);
}

/** Does another space share an instance of that name with this one? */
export function isNameShared(cache: ClusterCache, namespace: string, name: string): boolean {
  return listSharedWith(cache, namespace).some((one) => isNamed(one, name));
}

const isNamed = (instance: ServiceInstance, name: string): boolean =>
  displayNameOf(instance).normalize("NFC") === name.normalize("NFC");

/** By the catalog: the instance's offering, and its plan in that space. @throws CFError 422 */
export function requireShareable(cache: ClusterCache, instance: ServiceInstance, namespace: string): void {
  const plan = planOf(cache, instance);
  const offering = plan && offeringOf(cache, plan);
  const problem = findSharingProblem({ plan, offering }, { namespace, org: orgNameOf(cache, namespace) });
  const service = offering?.spec.name ?? "";
  if (problem === "notShareable")
    throw unprocessable(`The ${service} service does not support service instance sharing.`);
  if (problem === "planNotVisible")
    throw unprocessable(
      `Access to service ${service} and plan ${plan?.spec.name ?? ""} is not enabled in ${placeName(cache, namespace)}.`,
    );
}

/** Each name in a space is one instance's, its own or one that is shared with it. @throws CFError 422 */
export function requireNameFree(cache: ClusterCache, instance: ServiceInstance, namespace: string): void {
  const name = displayNameOf(instance);
  const space = spaceName(cache, namespace);
  if (
    cache
      .store(ServiceInstance)
      .list({ namespace })
      .some((one) => isNamed(one, name))
  )
    throw unprocessable(`A service instance called ${name} already exists in ${space}.`);
  if (isNameShared(cache, namespace, name))
    throw unprocessable(`A service instance called ${name} has already been shared with ${space}.`);
}

function spaceName(cache: ClusterCache, namespace: string): string {
  const space = cache.spaceOf(namespace);
  return space ? displayNameOf(space) : namespace;
}

function placeName(cache: ClusterCache, namespace: string): string {
  const org = cache.orgOf(cache.spaceOf(namespace)?.metadata.namespace);
  return `${org ? displayNameOf(org) : ""}/${spaceName(cache, namespace)}`;
}
