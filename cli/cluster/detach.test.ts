// Whose context a cluster may be detached with, and which marks go.
import { expect, test } from "vitest";
import { Cluster } from "../../crds/cluster/cluster.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import { toRemoteMarkers } from "../../platform/operations/controller-settings.ts";
import { judgeContext, withoutHubMarks } from "./detach.ts";

const cluster = (name: string, clusterUID?: string): Cluster =>
  makeObject(Cluster, name, { spec: { mode: "push" }, ...(clusterUID !== undefined && { status: { clusterUID } }) });
const CLUSTERS = [cluster("east", "uid-east"), cluster("west", "uid-west"), cluster("new")];

test.each<[string, string, string | undefined, string | undefined]>([
  ["its own", "east", "uid-east", undefined],
  ["one that the platform has forgotten", "gone", "uid-gone", undefined],
  ["another one", "east", "uid-west", "the context is of cluster west"],
  ["another one by a wrong name", "mistyped", "uid-west", "the context is of cluster west"],
  ["an unknown one", "east", "uid-other", "the context is of another cluster than east"],
  ["the platform's own", "gone", "uid-hub", "the context is of the platform's own cluster"],
  ["one that was never reached", "new", "uid-new", "the platform has never reached cluster new"],
])("with a context of %s", (_what, name, uid, expected) =>
  expect(judgeContext(name, { uid, hub: "uid-hub", clusters: CLUSTERS })?.message).toBe(expected)); // prettier-ignore

test("the marks of this platform go, and nothing else", () => {
  const markers = toRemoteMarkers("hub-1");
  const managedFields = [{ manager: "cupola-hub-hub-1" }, { manager: "cupola-runner-deployment" }];
  const object = { metadata: { name: "shop", resourceVersion: "7", managedFields } };
  expect(withoutHubMarks(object, markers)).toEqual({
    resourceVersion: "7",
    labels: { "cupola.dev/hub": null, "cupola.dev/hub-owner": null },
    annotations: { "cupola.dev/hub-object": null },
    managedFields: [{ manager: "cupola-runner-deployment" }],
  });
});
