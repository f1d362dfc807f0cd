// The FeatureFlags that a new platform has: all that CF knows, so that `kubectl get cfflag` shows them and policies find their parameters.
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { FeatureFlag } from "./feature-flag.ts";
import { FLAG_NAMES, toFlagObjectName, type FlagName } from "./flags.ts";

/** Off in CF for want of trust in images; here every app runs beside others' images anyway, and Cloud Native Buildpacks are how apps are built. */
const ENABLED_AT_INSTALL: readonly FlagName[] = ["diego_docker", "diego_cnb"];

export function featureFlagObjects(): KubeObject[] {
  return FLAG_NAMES.map((name) => ({
    apiVersion: apiVersionOf(FeatureFlag),
    kind: FeatureFlag.kind,
    metadata: { name: toFlagObjectName(name), namespace: SYSTEM_NAMESPACE },
    spec: ENABLED_AT_INSTALL.includes(name) ? { enabled: true } : {},
  }));
}
