// The condition of an AppPolicy: whether its apps are there, and whether anything here keeps other apps from connecting. Pure.
import type { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";

export interface AppPolicyInput {
  policy: AppPolicy;
  hasSource: boolean;
  hasDestination: boolean;
  /** Undefined where the settings are wrong, which the spaces say. */
  isolation: boolean | undefined;
}

export function planAppPolicy({ policy: { spec }, hasSource, hasDestination, isolation }: AppPolicyInput): ReadyDraft {
  if (!hasSource) return missing(`app ${spec.source.app} of its source is not in namespace ${spec.source.namespace}`);
  if (!hasDestination) return missing(`app ${spec.destination.app} is not in this namespace`);
  if (isolation === false)
    return {
      status: "True",
      reason: "NotEnforced",
      message: "kept, but nothing here separates apps: every app reaches every other",
    };
  return { status: "True", reason: "Open", message: "opened by NetworkPolicies of both namespaces" };
}

function missing(message: string): ReadyDraft {
  return { status: "False", reason: "AppMissing", message, isFailure: true };
}
