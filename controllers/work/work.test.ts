// The end of a Work: its object goes first, also one that the agent has just made and not seen yet.
import { expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { toWork } from "../../crds/work/remote-object.ts";
import type { Work } from "../../crds/work/work.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { workController } from "./work.ts";

const labels = { [LABELS.hub]: "hub-1" };
const work = toWork("west", LRP, { metadata: { name: "shop", namespace: "dev", labels } }) as Work;
const told: Work = { ...work, spec: { ...work.spec, remove: true } };
const made = (owner: string): KubeObject =>
  ({
    kind: "LRP",
    metadata: { name: "shop", namespace: "dev", labels: { ...labels, [LABELS.hubOwner]: owner } },
  }) as never;

/** `cached`: objects of the Work that the agent's cache has; `live`: the object of this name on its cluster. */
function contextOf(cached: readonly KubeObject[], live: KubeObject | undefined): ReconcileContext {
  const here = { listOwned: () => cached, client: { find: () => Promise.resolve(live) } };
  return {
    clusters: { find: () => here, markers: { hub: "hub-1", hubLabel: LABELS.hub, ownerLabel: LABELS.hubOwner } },
  } as never;
}

const finalize = (of: Work, context: ReconcileContext): unknown => workController().finalize?.(of, context);

test("a Work waits for an object that the agent's cache does not have yet", async () => {
  expect(await finalize(told, contextOf([], made(work.metadata.name)))).toMatchObject({
    ready: { reason: "Stopping" },
    requeueAfterMs: expect.any(Number) as number,
  });
});

test("a Work ends whose object is gone, or another's", async () => {
  expect(await finalize(told, contextOf([], undefined))).toBeUndefined();
  expect(await finalize(told, contextOf([], made("another")))).toBeUndefined();
});

test("a Work that was not told to remove anything ends at once", async () => {
  expect(await finalize(work, contextOf([made(work.metadata.name)], made(work.metadata.name)))).toBeUndefined();
});
