// Takes an app off a route.
import type { App } from "../../crds/app/app.ts";
import { Route } from "../../crds/route/route.ts";
import type { Session } from "../access/session.ts";

/** Removes an app's destinations from a route, and nobody else's, whoever changes them at the same time. */
export async function unmapApp(session: Session, route: Route, app: App): Promise<void> {
  await session.patchWithRetry(Route, route, ({ spec }) => {
    const destinations = spec.destinations.filter((destination) => destination.app !== app.metadata.name);
    return destinations.length === spec.destinations.length ? undefined : { spec: { destinations } };
  });
}
