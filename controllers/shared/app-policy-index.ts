// Indexes of AppPolicies: by the namespace of their source, and by the apps of both sides.
import type { AppPolicy } from "../../crds/app-policy/app-policy.ts";
import { appKey } from "./app-owned.ts";

export const POLICY_SOURCE_INDEX = "controllers/policy-source";
export const POLICY_APP_INDEX = "controllers/policy-app";

export const APP_POLICY_INDEXES = {
  [POLICY_SOURCE_INDEX]: ({ spec }: AppPolicy) => [spec.source.namespace],
  [POLICY_APP_INDEX]: ({ metadata, spec }: AppPolicy) => [
    appKey(spec.source.namespace, spec.source.app),
    appKey(metadata.namespace, spec.destination.app),
  ],
};

/** The namespaces of both sides. */
export function namespacesOf({ metadata, spec }: AppPolicy): string[] {
  return [...new Set([metadata.namespace ?? "", spec.source.namespace])];
}
