// Lease: bounds of its numbers.
import { invalidValue } from "../../field-errors.ts";
import { mapOf, notNegative, type Rule } from "./rule.ts";

export const leaseRules: Rule = (object) => {
  const { leaseDurationSeconds: seconds, leaseTransitions } = mapOf(object.spec);
  return [
    ...(typeof seconds === "number" && seconds <= 0
      ? [invalidValue("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
      : []),
    ...notNegative("spec.leaseTransitions", leaseTransitions),
  ];
};
