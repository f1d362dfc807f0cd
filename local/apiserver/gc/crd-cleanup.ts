// Before a CustomResourceDefinition goes, its objects go.
import { CLEANUP, type Crd } from "../crd/types.ts";
import type { Core } from "../registry/core.ts";
import type { ResourceType } from "../registry/types.ts";
import { edit, removeAsSystem } from "../registry/system.ts";
import { unlessGone } from "./garbage-collector.ts";
import { createWorkQueue } from "./work-queue.ts";

const GROUP = "apiextensions.k8s.io";
const KEY = `${GROUP}/customresourcedefinitions`;

/** Follows CRDs that are being deleted. Returns the function that ends it. */
export function cleanUpCrds(core: Core, onError: (error: unknown) => void): () => void {
  const queue = createWorkQueue((name) => settle(core, name), onError);
  const table = core.store.table(KEY);
  const isLeaving = (name: string) => table.find("", name)?.metadata.deletionTimestamp !== undefined;
  for (const { metadata } of table.list()) if (metadata.deletionTimestamp) queue.add(metadata.name);
  const unsubscribe = core.store.subscribe((storageKey, { object }) => {
    const [group = "", resource = ""] = storageKey.split("/");
    const name = storageKey === KEY ? object.metadata.name : `${resource}.${group}`;
    if (group !== "" && isLeaving(name)) queue.add(name);
  });
  return () => {
    unsubscribe();
    queue.stop();
  };
}

async function removeAll(core: Core, type: ResourceType): Promise<void> {
  for (const object of core.store.table(type.storageKey).list()) {
    if (!object.metadata.deletionTimestamp) await unlessGone(() => removeAsSystem(core, type, object, {}));
  }
}

async function settle(core: Core, name: string): Promise<void> {
  const crd = core.store.table(KEY).find("", name) as Crd | undefined;
  if (!crd?.metadata.deletionTimestamp || !crd.metadata.finalizers?.includes(CLEANUP)) return;
  const storageKey = `${crd.spec.group}/${crd.spec.names.plural}`;
  const type = core.catalogue.find(crd.spec.group, crd.spec.names.plural);
  if (type) await removeAll(core, type);
  if (type && core.store.table(storageKey).count() > 0) return;
  const crds = core.catalogue.find(GROUP, "customresourcedefinitions");
  if (!crds) return;
  await unlessGone(() =>
    edit(core, crds, { namespace: "", name }, (object) => {
      object.metadata.finalizers = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP);
    }),
  );
}
