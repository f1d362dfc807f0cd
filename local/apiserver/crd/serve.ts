// Keeps the catalogue in step with the stored CustomResourceDefinitions.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { Catalogue } from "../registry/catalogue.ts";
import type { Store } from "../storage/store.ts";
import { toResourceType } from "./resource-type.ts";
import type { Crd } from "./types.ts";

const KEY = "apiextensions.k8s.io/customresourcedefinitions";

/** Serves the stored CRDs and follows every change inside the commit: an answered create can be used at once. */
export function serveCrds(store: Store, catalogue: Catalogue, onFault: (error: unknown) => void): () => void {
  const serve = (object: KubeObject, old: KubeObject | undefined) => {
    const crd = object as Crd;
    const isLeaving = crd.metadata.deletionTimestamp !== undefined;
    // A status write changes nothing that is served.
    if (
      old &&
      isLeaving === (old.metadata.deletionTimestamp !== undefined) &&
      JSON.stringify((old as Crd).spec) === JSON.stringify(crd.spec)
    )
      return;
    const type = toResourceType(crd);
    // Nothing new while everything of this kind is being deleted.
    if (type && isLeaving) type.verbs = type.verbs.filter((verb) => verb !== "create");
    if (type) catalogue.add(type);
    else catalogue.remove(crd.spec.group, crd.spec.names.plural);
  };
  for (const crd of store.table(KEY).list()) {
    try {
      serve(crd, undefined);
    } catch (cause) {
      // The other kinds are served even when this one cannot be.
      onFault(new Error(`the stored CustomResourceDefinition ${crd.metadata.name} cannot be served`, { cause }));
    }
  }
  return store.table(KEY).subscribe(({ type, object, oldObject }) => {
    if (type === "DELETED") catalogue.remove((object as Crd).spec.group, (object as Crd).spec.names.plural);
    else serve(object, oldObject);
  });
}
