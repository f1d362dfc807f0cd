// The FeatureFlags that a new platform has: all that CF knows, so that `kubectl get cfflag` shows them and policies find their parameters.
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { FeatureFlag } from "./feature-flag.ts";
import { FLAG_NAMES, toFlagObjectName } from "./flags.ts";

/** Without any field of spec, so that applying them again changes nothing that an operator has set. */
export function featureFlagObjects(): KubeObject[] {
  return FLAG_NAMES.map((name) => ({
    apiVersion: apiVersionOf(FeatureFlag),
    kind: FeatureFlag.kind,
    metadata: { name: toFlagObjectName(name), namespace: SYSTEM_NAMESPACE },
    spec: {},
  }));
}
