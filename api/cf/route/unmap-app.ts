// Unmaps an app from a route.
import type { App } from "../../../crds/app/app.ts";
import { Route } from "../../../crds/route/route.ts";
import type { Session } from "../../access/session.ts";

/** Removes only this app's destinations from a route, even under concurrent changes. */
export async function unmapApp(session: Session, route: Route, app: App): Promise<void> {
  await session.patchWithRetry(Route, route, ({ spec }) => {
    const destinations = spec.destinations.filter((destination) => destination.app !== app.metadata.name);
    return destinations.length === spec.destinations.length ? undefined : { spec: { destinations } };
  });
}
