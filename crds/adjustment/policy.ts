// Admission policy on Adjustments: fields that can never be adjusted are refused before they are stored. The operator's choice is judged by the controller (judge.ts).
import { toPolicyResource, type AdmissionPolicy, type Validation } from "../admission-policy.ts";
import { Adjustment } from "./adjustment.ts";
import { ADJUSTABLE } from "./adjustable.ts";

const POD_FIELDS = Object.values(ADJUSTABLE)
  .map(({ path }) => path.split("."))
  .filter(([part, field]) => part === "spec" && field !== "containers")
  .map(([, field]) => field ?? "");

/** The patch has no schema, so it is of no type. */
const PATCH = "dyn(object.spec.patch)";

export function adjustmentPolicy(): AdmissionPolicy {
  return {
    name: "adjustments.cupola.dev",
    resources: [toPolicyResource(Adjustment)],
    operations: ["CREATE", "UPDATE"],
    variables: [
      { name: "patch", expression: PATCH },
      { name: "metadata", expression: "has(variables.patch.metadata) ? variables.patch.metadata : {}" },
      { name: "pod", expression: "has(variables.patch.spec) ? variables.patch.spec : {}" },
      { name: "containers", expression: "has(variables.pod.containers) ? variables.pod.containers : []" },
    ],
    validations: [
      only("variables.patch", ["metadata", "spec"], "a patch has metadata and spec, as a pod template"),
      only("variables.metadata", ["labels", "annotations"], "of metadata only labels and annotations can be adjusted"),
      only(
        "variables.pod",
        [...POD_FIELDS, "containers"],
        `of a pod's spec only these fields can be adjusted: ${POD_FIELDS.join(", ")}; of containers the CPU`,
      ),
      {
        expression: `variables.containers.all(one, ${holdsOnly("one", ["name", "resources"])} && (!has(one.resources) || (${holdsOnly("one.resources", ["requests", "limits"])} && ${["requests", "limits"].map((part) => `(!has(one.resources.${part}) || ${holdsOnly(`one.resources.${part}`, ["cpu"])})`).join(" && ")})))`,
        message:
          "of a container only resources.requests.cpu and resources.limits.cpu can be adjusted, beside its name: image, variables and command are the app's",
        reason: "Invalid",
      },
    ],
  };
}

function only(map: string, keys: readonly string[], message: string): Validation {
  return { expression: holdsOnly(map, keys), message, reason: "Invalid" };
}

function holdsOnly(map: string, keys: readonly string[]): string {
  return `${map}.all(key, key in [${keys.map((key) => `'${key}'`).join(", ")}])`;
}
