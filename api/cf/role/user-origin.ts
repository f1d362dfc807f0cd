// Where a user comes from, as CF shows it. Pure.

/** CF's `origin` of the user with this name in Kubernetes. */
export function originOf(name: string): string {
  return name.startsWith("system:serviceaccount:") ? "serviceaccount" : "kubernetes";
}
