// Unmaps an app from a route.
import type { App } from "../../../crds/app/app.ts";
import { leadsTo } from "../../../crds/route/destinations.ts";
import { Route } from "../../../crds/route/route.ts";
import { objectKey } from "../../../kube/api/object.ts";
import type { Session } from "../../access/session.ts";

/** Removes only this app's destinations from a route, even under concurrent changes. One of another space stays when the caller may not change it. */
export async function unmapApp(session: Session, route: Route, app: App): Promise<void> {
  const isForeign = route.metadata.namespace !== app.metadata.namespace;
  if (isForeign && !session.allows({ verb: "patch", on: Route, ...objectKey(route) })) return;
  await session.patchWithRetry(Route, route, ({ spec }) => {
    const destinations = spec.destinations.filter((destination) => !leadsTo(route, destination, app.metadata));
    return destinations.length === spec.destinations.length ? undefined : { spec: { destinations } };
  });
}
