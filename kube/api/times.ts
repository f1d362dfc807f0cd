// How Kubernetes writes times.

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function toTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

/** RFC 3339 with the six fractional digits that times of Leases have. */
export function toMicroTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
