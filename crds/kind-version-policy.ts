// The admission policy that keeps our kinds from going back to an older version: kube-apiserver would drop fields that the older kind lacks at the next write of an object.
import type { AdmissionPolicy } from "./admission-policy.ts";
import { ANNOTATIONS } from "./labels.ts";
import { metadataOf } from "./platform-policies.ts";

const KEY = ANNOTATIONS.schemaVersion;

/** Holds for everybody: `helm rollback`, an older chart and `kubectl apply` alike. Kinds without the annotation are not judged. */
export function kindVersionPolicy(): AdmissionPolicy {
  const version = (object: string): string =>
    `('${KEY}' in ${metadataOf(object, "annotations")} ? ${object}.metadata.annotations['${KEY}'] : '')`;
  /** The three numbers as one, which grows with the version. */
  const rank = (text: string): string =>
    [10_000_000_000, 100_000, 1].map((factor, at) => `int(${text}.split('.')[${at}]) * ${factor}`).join(" + ");
  return {
    name: "kind-versions.cupola.dev",
    resources: [{ group: "apiextensions.k8s.io", plural: "customresourcedefinitions" }],
    operations: ["UPDATE"],
    matchConditions: [{ name: "has-a-version", expression: isVersion(version("oldObject")) }],
    variables: [
      { name: "before", expression: version("oldObject") },
      { name: "after", expression: version("object") },
    ],
    validations: [
      {
        expression: `${isVersion("variables.after")} && ${rank("variables.after")} >= ${rank("variables.before")}`,
        messageExpression: `'the kind ' + object.metadata.name + ' is of version ' + variables.before + ', and kinds never go back: fields of objects would be lost. To run older code, run helm upgrade with the newest chart and image.tag of the older version'`,
        reason: "Forbidden",
      },
    ],
  };
}

function isVersion(text: string): string {
  return `${text}.matches('^[0-9]{1,5}[.][0-9]{1,5}[.][0-9]{1,5}$')`;
}
