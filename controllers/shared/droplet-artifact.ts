// The part of a Droplet that a runner needs, as LRPs and TaskRuns carry it. Pure.
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { guidOf } from "../../crds/guid.ts";

/** The droplet's GUID and artifact, without fields that it does not have. */
export function toDropletArtifact(droplet: Droplet): Record<string, unknown> {
  const { kind, image, imagePullSecretRef, content, root, processTypes, ports } = droplet.spec;
  const all = { guid: guidOf(droplet), kind, image, imagePullSecretRef, content, root, processTypes, ports };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
