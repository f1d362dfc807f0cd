// A cached list costs nothing for each namespace while nothing has changed anywhere.
import { expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import type { Session } from "../access/session.ts";
import type { ListParameters } from "../http/query.ts";
import { listObjects } from "./list-objects.ts";

const query = { page: 1, per_page: 50 } as unknown as ListParameters;

function fakeSession(versions: { total: number; own: number }): { session: Session; steps: string[] } {
  const steps: string[] = [];
  const cache = {
    authorizer: { version: () => 1 },
    versionOf: (_kinds: unknown, namespaces?: readonly string[]) => (namespaces ? versions.own : versions.total),
    store: () => ({ synced: true }),
  };
  const session = {
    cache,
    canCacheLists: true,
    caller: { name: "dev", groups: [] },
    visibleNamespaces: () => (steps.push("namespaces"), ["a", "b"]),
    list: () => (steps.push("list"), []),
  };
  return { session: session as unknown as Session, steps };
}

test.each([
  ["nothing has changed", { total: 7, own: 3 }, []],
  ["another namespace has changed: the list's own are compared, once", { total: 8, own: 3 }, ["namespaces"]],
  ["one of its own has changed: it is found again", { total: 8, own: 4 }, ["namespaces", "list"]],
])("%s", (_what, change, expected) => {
  const versions = { total: 7, own: 3 };
  const { session, steps } = fakeSession(versions);
  const list = (): unknown => listObjects(session, App, query, { url: "/v3/apps" });
  list();
  steps.length = 0;
  Object.assign(versions, change);
  list();
  list();
  expect(steps).toEqual(expected);
});
