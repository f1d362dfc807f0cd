// The kind Build of kpack (kpack.io/v1alpha2), as far as this class writes and reads it.
import type { ContainerState } from "kubernetes-types/core/v1.js";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";

/** `status` of a kpack Build. */
export interface KpackBuildStatus {
  conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[];
  /** The exported image by digest. */
  latestImage?: string;
  /** States of the containers prepare, analyze, detect, restore, build, export, completion, in this order. */
  stepStates?: ContainerState[];
}

export interface KpackBuildObject extends KubeObject {
  status?: KpackBuildStatus;
}

export const KpackBuild: ResourceRef<KpackBuildObject> = {
  group: "kpack.io",
  version: "v1alpha2",
  kind: "Build",
  plural: "builds",
  namespaced: true,
};
