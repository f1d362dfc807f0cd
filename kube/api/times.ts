// Times in the formats of Kubernetes.

/** RFC 3339 in whole seconds (metav1.Time). */
export function toTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

/** RFC 3339 with six fractional digits (metav1.MicroTime), for Leases. */
export function toMicroTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
