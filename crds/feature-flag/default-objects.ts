// The FeatureFlags that a new platform has: all that CF knows, so that `kubectl get cfflag` shows them and policies find their parameters.
import type { KubeObject } from "../../kube/api/object.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { SYSTEM_NAMESPACE } from "../groups.ts";
import { FeatureFlag } from "./feature-flag.ts";
import { FLAG_NAMES, flagObjectName, type FlagName } from "./flags.ts";

/** Off in CF for want of trust in images; here every app runs beside others' images anyway, and Cloud Native Buildpacks are how apps are built. */
const ON: readonly FlagName[] = ["diego_docker", "diego_cnb"];

export function flagObjects(): KubeObject[] {
  return FLAG_NAMES.map((name) => ({
    apiVersion: apiVersionOf(FeatureFlag),
    kind: FeatureFlag.kind,
    metadata: { name: flagObjectName(name), namespace: SYSTEM_NAMESPACE },
    spec: ON.includes(name) ? { enabled: true } : {},
  }));
}
