// What a server gives to a Service: its addresses and their families, and what stays of them when a client changes it.
import { randomInt } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { JsonMap } from "../apply/values.ts";

const ADDRESSES = ["clusterIP", "clusterIPs"];
const ALLOCATED = [...ADDRESSES, "ipFamilies", "ipFamilyPolicy"];

/** Of a new Service, or one that was but another name before. */
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

/** A Service that is but another name has no traffic of its own. */
function dropWithoutAddress(spec: JsonMap): void {
  if (spec.type === "ExternalName") delete spec.internalTrafficPolicy;
}

/** What was allocated to a Service stays when a client leaves it out. */
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

/** No load balancer answers for a Service that has none any more. */
function dropBalancers(object: KubeObject): void {
  if ((object.spec as JsonMap).type !== "LoadBalancer")
    object.status = { ...(object.status as JsonMap | undefined), loadBalancer: {} };
}

/** Who changes the one address alone means the first of all. */
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

/** What a Service had and a client sent back unchanged goes when it turns into another name. */
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
