// The right to lead a route to apps of other spaces by kubectl: the policy of crds/route, evaluated by the embedded server.
import { expect, test } from "vitest";
import { MAX_ADDED_SPACES, toPolicyObjects } from "../crds/admission-policy.ts";
import { routeDestinationPolicy } from "../crds/route/policies.ts";
import type { KubeObject } from "../kube/api/object.ts";
import { createMemoryStore } from "./apiserver/testing/memory-store.ts";
import type { AdmissionRequest } from "./apiserver/types.ts";
import { createPolicyAdmission } from "./apiserver/admission/admission.ts";

const group = "admissionregistration.k8s.io";
const store = createMemoryStore();
for (const object of toPolicyObjects(routeDestinationPolicy()))
  store.put(
    group,
    object.kind === "ValidatingAdmissionPolicy" ? "validatingadmissionpolicies" : "validatingadmissionpolicybindings",
    object,
  );
/** Reads apps in `two` and in the spaces x0, x1 and so on. */
const admission = createPolicyAdmission({
  reader: store.reader,
  authorize: ({ user, resource, namespace = "", verb }) => ({
    allowed:
      (resource === "apps" && verb === "get" && /^(two|x\d+)$/.test(namespace)) ||
      (resource === "claims" && user.name === "platform"),
    reason: "",
  }),
});

interface Leads {
  namespace?: string;
  app?: string;
  process?: string;
  port?: number;
  protocol?: string;
}

const route = (destinations: readonly Leads[], more: object = {}): KubeObject =>
  ({
    apiVersion: "cupola.dev/v1alpha1",
    kind: "Route",
    metadata: { name: "r", namespace: "one" },
    spec: {
      destinations: destinations.map((given) => ({
        app: "shop",
        namespace: "",
        process: "web",
        port: 0,
        protocol: "http1",
        ...given,
      })),
      ...more,
    },
  }) as KubeObject;

/** The refusal, if any, of a change; without `before`, of a creation. */
async function refusal(
  before: KubeObject | undefined,
  object: KubeObject,
  user = "developer",
): Promise<string | undefined> {
  const request: AdmissionRequest = {
    operation: before ? "UPDATE" : "CREATE",
    user: { name: user, groups: [] },
    gvr: { group: "cupola.dev", version: "v1alpha1", resource: "routes" },
    gvk: { group: "cupola.dev", version: "v1alpha1", kind: "Route" },
    subresource: "",
    namespace: "one",
    name: "r",
    object,
    ...(before && { oldObject: before }),
    dryRun: false,
    namespaceObject: { apiVersion: "v1", kind: "Namespace", metadata: { name: "one", labels: {} } } as KubeObject,
  };
  const result = await admission.admit(request);
  return result.allowed ? undefined : result.status.message;
}

const foreign: Leads = { namespace: "three" };
const spaces = (count: number): Leads[] => Array.from({ length: count }, (_none, at) => ({ namespace: `x${at}` }));
const leading = route([foreign]);
const stored = { ...route([]), spec: { destinations: [{ app: "shop", process: "web", port: 0 }] } } as KubeObject;

test.each<[string, KubeObject | undefined, KubeObject]>([
  ["a route without destinations", undefined, route([])],
  ["an app of its own space", route([]), route([{}])],
  ["its own space by name", route([]), route([{ namespace: "one" }])],
  ["a space whose apps the caller reads", route([]), route([{ namespace: "two" }])],
  ["a route stored before destinations had a namespace", stored, route([{}, { app: "own" }])],
  ["another option of a route that leads elsewhere", leading, route([foreign], { options: {} })],
  ["another protocol", leading, route([{ ...foreign, protocol: "http2" }])],
  ["an app of its own beside another space's", leading, route([foreign, { app: "own" }])],
  ["a removal", leading, route([])],
  ["as many spaces as a write may add", route([]), route(spaces(MAX_ADDED_SPACES))],
  [
    "many apps of one space",
    undefined,
    route(Array.from({ length: 100 }, (_none, at) => ({ namespace: "two", app: `a${at}` }))),
  ],
])("allowed: %s", async (_title, before, after) => {
  expect(await refusal(before, after)).toBeUndefined();
});

const RIGHT = /needs the right to read apps there/;
test.each<[string, KubeObject | undefined, KubeObject, RegExp]>([
  ["a new route", undefined, route([foreign]), RIGHT],
  ["one more destination", route([]), route([{ namespace: "two" }, foreign]), RIGHT],
  ["another app", leading, route([{ ...foreign, app: "admin" }]), RIGHT],
  ["another process", leading, route([{ ...foreign, process: "worker" }]), RIGHT],
  ["another port", leading, route([{ ...foreign, port: 9999 }]), RIGHT],
  ["another space", leading, route([{ namespace: "four" }]), RIGHT],
  ["a space too many", route([]), route(spaces(MAX_ADDED_SPACES + 1)), /at most 8 more spaces at a time/],
])("refused: %s", async (_title, before, after, message) => {
  expect(await refusal(before, after)).toMatch(message);
  expect(await refusal(before, after, "platform")).toBeUndefined();
});
