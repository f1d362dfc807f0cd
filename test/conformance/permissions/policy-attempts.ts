// Attempts to write kinds, and the admission policies that hold the platform.
import type { Json } from "../kubernetes/api.ts";
import { create, named, patch, remove, type Attempt } from "./attempt.ts";

const KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Writes of kinds that no PolicyTemplate makes. */
export function listKindWrites(): Attempt[] {
  return [
    create("a kind", KINDS, kindOf("example.com")),
    create("a kind of ours", KINDS, kindOf("cupola.dev")),
    remove("a kind of ours", `${KINDS}/apps.cupola.dev`),
  ];
}

function kindOf(group: string): Json {
  const schema = { openAPIV3Schema: { type: "object" } };
  return named("apiextensions.k8s.io/v1", "CustomResourceDefinition", {
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: "Cluster",
      names: { kind: "Gadget", listKind: "GadgetList", plural: "gadgets", singular: "gadget" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
}

/** Writes of the policies that hold the platform. Only the operation `policies` may: Kubernetes asks no policy about policies. */
export function listPolicyWrites(): Attempt[] {
  const admission = "/apis/admissionregistration.k8s.io/v1";
  return [
    remove("the policy that stops it", `${admission}/validatingadmissionpolicies/platform-places.cupola.dev`),
    remove("the binding of that policy", `${admission}/validatingadmissionpolicybindings/platform-places.cupola.dev`),
    patch("the policy that stops it", `${admission}/validatingadmissionpolicies/platform-places.cupola.dev`, {
      spec: { failurePolicy: "Ignore" },
    }),
  ];
}
