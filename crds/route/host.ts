// To which space a host of a shared domain belongs. Pure.
import type { Route } from "./route.ts";

/** A Route of the host; `isLost` when its whole address is somebody else's, so that it is not in force anyway. */
export interface HostRoute {
  route: Route;
  isLost: boolean;
}

/** The Route whose space has the host, with all of its paths: the oldest, of two made in the same second the one with the smaller uid. Ports have no hosts. */
export function hostHolder(routes: readonly HostRoute[]): Route | undefined {
  const inForce = routes.filter(({ route, isLost }) => !isLost && route.spec.port === 0).map(({ route }) => route);
  return inForce.toSorted((one, other) => (age(one) < age(other) ? -1 : 1))[0];
}

function age({ metadata }: Route): string {
  return `${metadata.creationTimestamp ?? ""} ${metadata.uid ?? ""}`;
}
