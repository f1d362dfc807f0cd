// Gives a route to another space. A Route is in its space's namespace, so it is made anew there, with its GUID, and deleted here.
import type { Domain } from "../../../crds/domain/domain.ts";
import { LABELS } from "../../../crds/labels.ts";
import { appNamespaceOf, toDestinationNamespace } from "../../../crds/route/destinations.ts";
import { MAX_ADDED_SPACES } from "../../../crds/admission-policy.ts";
import { Route } from "../../../crds/route/route.ts";
import { routeURL } from "../../../crds/route/route-url.ts";
import { Space } from "../../../crds/space/space.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { Session } from "../../access/session.ts";
import { unprocessable } from "../../http/errors.ts";
import { freeObjectName } from "../free-object-name.ts";
import { requireRouteQuota } from "../quota/check.ts";
import { checkResolvedDomain } from "./create-route.ts";
import { checkHostOfMove } from "./route-address.ts";

/** The former space keeps the route as one that is shared with it. @throws CFError 403, 422 */
export async function moveRoute(
  session: Session,
  route: Route,
  to: { namespace: string; domain: Domain },
): Promise<Route> {
  const { cache } = session;
  checkHostOfMove(session, route, to.domain);
  requireRouteQuota(session, to.namespace, route.spec.port, route);
  const name = freeObjectName(cache, Route, {
    namespace: to.namespace,
    name: routeURL(route.spec, to.domain.spec.name),
    fallback: "route",
  });
  const draft = toMoved(route, { name, namespace: to.namespace, guid: cache.guid(Route, route) });
  checkResolvedDomain(session, to.domain, draft);
  await checkSharedSpaces(session, draft.spec.sharedSpaces ?? []);
  return session.move(Route, route, draft, () =>
    unprocessable("Unable to transfer owner of route: another route has taken its address meanwhile."),
  );
}

/** The route is made anew, so the admission policy of route sharing judges the mover in all its spaces. @throws CFError 422 */
async function checkSharedSpaces(session: Session, namespaces: readonly string[]): Promise<void> {
  const { cache } = session;
  const begin = "Unable to transfer owner of route:";
  if (namespaces.length > MAX_ADDED_SPACES)
    throw unprocessable(
      `${begin} it is shared with more than ${MAX_ADDED_SPACES - 1} other spaces. Unshare it from some of them first.`,
    );
  const spaces = namespaces.flatMap((namespace) => {
    const space = cache.spaceOf(namespace);
    return space ? [{ namespace, guid: cache.guid(Space, space) }] : [];
  });
  await session.judge(
    spaces.map(({ guid }) => guid),
    [],
  );
  const foreign = spaces.filter(({ namespace }) => !session.allows({ verb: "patch", on: Route, namespace }));
  if (foreign.length === 0) return;
  const guids = foreign.map(({ guid }) => `'${guid}'`).join(", ");
  throw unprocessable(
    `${begin} it is shared with spaces [${guids}] in which you don't have write permission. Unshare it from them first.`,
  );
}

/** The route as it is in the other namespace. */
export function toMoved(
  route: Route,
  { name, namespace, guid }: { name: string; namespace: string; guid: string },
): Draft & { metadata: { name: string }; spec: Route["spec"] } {
  const { namespace: former = "", labels = {}, annotations = {} } = route.metadata;
  const place = { metadata: { namespace } };
  const shared = (route.spec.sharedSpaces ?? []).filter((one) => one !== namespace);
  return {
    metadata: { name, namespace, labels: { ...labels, [LABELS.guid]: guid }, annotations },
    spec: {
      ...route.spec,
      destinations: route.spec.destinations.map((one) => ({
        ...one,
        namespace: toDestinationNamespace(place as Route, appNamespaceOf(route, one)),
      })),
      sharedSpaces: [...shared, former],
    },
  };
}
