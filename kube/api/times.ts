// Times in the formats of Kubernetes.

/** RFC 3339 in whole seconds, UTC (metav1.Time): `2026-01-31T12:00:00Z`. */
export function toTime(time: Date | string | number): string {
  // A shortcut for hot lists: Kubernetes writes creation times in this format already.
  if (typeof time === "string" && time.length === 20 && time.endsWith("Z")) return time;
  return `${new Date(time).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 with six fractional digits (metav1.MicroTime), for Leases. */
export function toMicroTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
