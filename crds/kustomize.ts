// kustomize's nameReference configuration for our kinds: the fields to update when namePrefix renames a resource. Pure.
import { GROUP, WORKLOADS_GROUP } from "./groups.ts";

/** A field, as a path from the object's root, that names an object of another kind. */
interface Reference {
  kind: string;
  path: string;
}

const appRefs: readonly Reference[] = ["Process", "Package", "Build", "Droplet"].map((kind) => ({
  kind,
  path: "spec/appRef/name",
}));

/** References of the kinds that users write, by the kind that they name. */
export const NAME_REFERENCES: Readonly<Record<string, readonly Reference[]>> = {
  App: [...appRefs, { kind: "Route", path: "spec/destinations/app" }],
  Package: [
    { kind: "Build", path: "spec/packageRef/name" },
    { kind: "Droplet", path: "spec/packageRef/name" },
  ],
  // A Build's Droplet has the Build's name.
  Build: [
    { kind: "Droplet", path: "spec/buildRef/name" },
    { kind: "App", path: "spec/droplet/name" },
  ],
  Droplet: [{ kind: "App", path: "spec/droplet/name" }],
  Domain: [{ kind: "Route", path: "spec/domainRef/name" }],
  OrgQuota: [{ kind: "Org", path: "spec/quotaRef/name" }],
  SpaceQuota: [{ kind: "Space", path: "spec/quotaRef/name" }],
  IsolationSegment: [
    { kind: "Org", path: "spec/isolationSegments" },
    { kind: "Org", path: "spec/defaultIsolationSegment" },
    { kind: "Space", path: "spec/isolationSegment" },
  ],
  SecurityGroup: [
    { kind: "Space", path: "spec/securityGroups/running" },
    { kind: "Space", path: "spec/securityGroups/staging" },
  ],
  BackendClass: [
    { kind: "App", path: "spec/builder" },
    { kind: "Build", path: "spec/builder" },
    { kind: "Process", path: "spec/runner" },
    { kind: "Domain", path: "spec/router" },
  ],
  Secret: [
    { kind: "App", path: "spec/env/valueFrom/secretKeyRef/name" },
    { kind: "Package", path: "spec/imagePullSecretRef/name" },
    { kind: "Droplet", path: "spec/imagePullSecretRef/name" },
  ],
};

/** The file that a kustomization names under `configurations`. */
export function kustomizeNameReferences(): object {
  return {
    nameReference: Object.entries(NAME_REFERENCES).map(([kind, fields]) => ({
      kind,
      ...groupOf(kind),
      fieldSpecs: fields.map(({ kind: referrer, path }) => ({ kind: referrer, group: GROUP, path })),
    })),
  };
}

function groupOf(kind: string): { group?: string; version?: string } {
  if (kind === "Secret") return { version: "v1" };
  return { group: kind === "BackendClass" ? WORKLOADS_GROUP : GROUP };
}
