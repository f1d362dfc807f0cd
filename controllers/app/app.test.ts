// Reads of the App's controller that end after others have written.
import { expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { appName, newClaim } from "../../crds/claim/rules.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Process } from "../../crds/process/process.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { aDroplet, anApp, aProcess, aRevision, aRunner } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { OPEN_GATE } from "../shared/start-gate.ts";
import { appController } from "./app.ts";

/** A context with these objects by kind. `onLiveRead` runs during the live read of a Process. */
function contextOf(objects: Record<string, readonly KubeObject[]>, onLiveRead: () => void): ReconcileContext {
  const list = ({ kind }: { kind: string }): readonly KubeObject[] => objects[kind] ?? [];
  const context = {
    read: { find: (ref: { kind: string }) => list(ref)[0], byIndex: list, list },
    client: {
      find: async (ref: { kind: string }) => {
        if (ref.kind === Process.kind) onLiveRead();
        return list(ref)[0];
      },
      list: (ref: { kind: string }) => Promise.resolve({ items: list(ref) }),
    },
    now: () => new Date("2026-01-01T00:01:00Z"),
  };
  return context as unknown as ReconcileContext;
}

test("a Revision that appears while a snapshot is read makes the snapshot again: it may be that of an earlier restart", async () => {
  const app = anApp({ state: "Started", droplet: { name: "d1" }, restart: "second" });
  const { name, namespace = "" } = app.metadata;
  const objects: Record<string, readonly KubeObject[]> = {
    [App.kind]: [app],
    [Claim.kind]: [newClaim(appName(app), { kind: App.kind, namespace, name }, new Date(0))],
    [Droplet.kind]: [aDroplet()],
    [Process.kind]: [aProcess()],
    [BackendClass.kind]: [aRunner()],
  };
  const earlier = aRevision(1, { dropletRef: { name: "d1" }, description: "", processes: [], restart: "first" });
  const appear = (): void => void (objects[Revision.kind] = [earlier]);
  const { reconcile } = appController({ startGate: OPEN_GATE });
  await expect(reconcile(app, contextOf(objects, appear))).rejects.toBeInstanceOf(NotSynced);
  const { create } = await reconcile(app, contextOf(objects, appear));
  expect(create).toMatchObject([{ spec: { version: 2, restart: "second" } }]);
});
