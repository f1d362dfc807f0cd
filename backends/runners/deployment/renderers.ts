// The renderers of the class by version. An LRP is rendered by the version that it was made with, until its app's next restart: an update
// of the platform changes no pod. A change of a renderer's output is a new version beside the old ones.
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { POD_RULES } from "../../pods/pod-rules.ts";
import { planLRP } from "./plan.ts";

/** From an LRP to the objects that it becomes. Pure. */
export type Renderers = Readonly<Record<string, (lrp: LRP) => Draft[]>>;

export const RENDERERS: Renderers = {
  "1": (lrp) => planLRP(lrp, POD_RULES["1"]),
  "2": (lrp) => planLRP(lrp, POD_RULES["2"]),
};

/** The version that new LRPs are made with, published as a capability. */
export const RENDERING = "2";
