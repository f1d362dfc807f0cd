// The FeatureFlags of a new platform: all of CF's, so that `kubectl get cfflag` lists them and policies find their parameters.
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { FeatureFlag } from "./feature-flag.ts";
import { FLAG_NAMES, toFlagObjectName } from "./flags.ts";

/** The spec is empty, so that a later apply keeps an operator's settings. */
export function featureFlagObjects(): KubeObject[] {
  return FLAG_NAMES.map((name) => ({
    apiVersion: apiVersionOf(FeatureFlag),
    kind: FeatureFlag.kind,
    metadata: { name: toFlagObjectName(name), namespace: SYSTEM_NAMESPACE },
    spec: {},
  }));
}
