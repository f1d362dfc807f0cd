// As many labels as the namespace of a space mirrors, of the longest keys and values: admission policies must afford them.
import { toNamespaceLabels } from "../../../crds/space/namespace-labels.ts";

export const MANY_LABELS = toNamespaceLabels({
  org: { name: "acme", labels: makeLabels(253 - ".org.cupola.dev".length) },
  space: { name: "dev", labels: makeLabels(253 - ".space.cupola.dev".length) },
});

function makeLabels(prefixLength: number): Record<string, string> {
  const prefix = "long.".repeat(60).slice(0, prefixLength - 1) + "x";
  return Object.fromEntries(
    Array.from({ length: 100 }, (_, at) => [`${prefix}/${String(at).padStart(63, "k")}`, "v".repeat(63)]),
  );
}
