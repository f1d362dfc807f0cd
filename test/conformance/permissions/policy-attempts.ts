// Attempts to write the admission policies that hold the platform.
import { patch, remove, type Attempt } from "./platform-attempts.ts";

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
