// The parts of a CustomResourceDefinition that the server reads. Types only.
import type { KubeObject } from "../../../kube/api/object.ts";
import type { JsonSchema } from "../types.ts";

export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: JsonSchema };
  subresources?: {
    status?: object;
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  };
  additionalPrinterColumns?: {
    name: string;
    type: string;
    format?: string;
    description?: string;
    priority?: number;
    jsonPath: string;
  }[];
  selectableFields?: { jsonPath: string }[];
}

export interface CrdCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface Crd extends KubeObject {
  spec: {
    group: string;
    scope: "Namespaced" | "Cluster";
    names: {
      plural: string;
      singular: string;
      kind: string;
      listKind: string;
      shortNames?: string[];
      categories?: string[];
    };
    versions: CrdVersion[];
    preserveUnknownFields?: boolean;
    conversion?: { strategy: string };
  };
  status?: { storedVersions?: string[]; acceptedNames?: object; conditions?: CrdCondition[] };
}

export const CLEANUP = "customresourcecleanup.apiextensions.k8s.io";
