// The addresses and address families that the server gives to a Service, and keeps when a client changes it.
import { randomInt } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { JsonMap } from "../apply/values.ts";

const ADDRESSES = ["clusterIP", "clusterIPs"];
const ALLOCATED = [...ADDRESSES, "ipFamilies", "ipFamilyPolicy"];

/** For a new Service, or one that was an ExternalName before. */
export function allocate(object: KubeObject): void {
  const spec = (object.spec ?? {}) as JsonMap;
  dropWithoutAddress(spec);
  if (spec.type === "ExternalName") {
    if (spec.clusterIP) spec.clusterIPs ??= [spec.clusterIP];
    return;
  }
  // Nothing answers there: addresses exist so that clients find the field set.
  spec.clusterIP ||= `10.${96 + randomInt(16)}.${randomInt(256)}.${1 + randomInt(254)}`;
  spec.clusterIPs ??= [spec.clusterIP];
  fillFamilies(spec);
}

function fillFamilies(spec: JsonMap): void {
  const isDual = spec.clusterIP === "None" && spec.selector === undefined;
  spec.ipFamilies ??= isDual ? ["IPv4", "IPv6"] : ["IPv4"];
  spec.ipFamilyPolicy ??= isDual ? "RequireDualStack" : "SingleStack";
}

/** An ExternalName has no traffic policy. */
function dropWithoutAddress(spec: JsonMap): void {
  if (spec.type === "ExternalName") delete spec.internalTrafficPolicy;
}

/** Keeps the allocated addresses of a Service when a client omits them. */
export function keepAllocated(object: KubeObject, old: KubeObject): void {
  const spec = object.spec as JsonMap | undefined;
  const before = (old.spec ?? {}) as JsonMap;
  if (!spec) return;
  dropWithoutAddress(spec);
  dropBalancers(object);
  if (spec.type === "ExternalName") {
    followAddress(spec, before);
    return dropAllocated(spec, before);
  }
  if (before.type === "ExternalName") allocate(object);
  else restoreAllocated(spec, before);
  followAddress(spec, before);
}

/** A Service that is no LoadBalancer any more loses its load balancer's status. */
function dropBalancers(object: KubeObject): void {
  if ((object.spec as JsonMap).type !== "LoadBalancer")
    object.status = { ...(object.status as JsonMap | undefined), loadBalancer: {} };
}

/** A client that changes clusterIP alone changes the first of clusterIPs. */
function followAddress(spec: JsonMap, before: JsonMap): void {
  if (!spec.clusterIP || spec.clusterIP === before.clusterIP) return;
  if (isDeepStrictEqual(spec.clusterIPs ?? [], before.clusterIPs ?? [])) spec.clusterIPs = [spec.clusterIP];
}

function restoreAllocated(spec: JsonMap, before: JsonMap): void {
  // Families that a client left out are not held against it where they cannot be.
  const isRefused = before.ipFamilyPolicy === "RequireDualStack" && spec.selector !== undefined;
  for (const field of ALLOCATED)
    if (before[field] !== undefined && !(isRefused && field === "ipFamilies")) spec[field] ??= before[field];
  fillFamilies(spec);
}

/** Removes unchanged addresses of a Service that becomes an ExternalName. */
function dropAllocated(spec: JsonMap, before: JsonMap): void {
  if (before.type === "ExternalName") return;
  // The list tells for both: who empties the one address alone means it. Without the list the address tells.
  const isUnchanged =
    spec.clusterIPs === undefined
      ? spec.clusterIP === before.clusterIP
      : isDeepStrictEqual(spec.clusterIPs, before.clusterIPs);
  if (isUnchanged) for (const field of ADDRESSES) delete spec[field];
  for (const field of ["ipFamilies", "ipFamilyPolicy"])
    if (isDeepStrictEqual(spec[field], before[field])) delete spec[field];
}
