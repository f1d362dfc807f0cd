// The part of a Droplet that a runner needs, as LRPs and TaskRuns carry it. Pure.
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { toRunnable } from "../../crds/droplet/rules.ts";
import { guidOf } from "../../crds/guid.ts";

/** The droplet's GUID and artifact, without fields that it does not have. */
export function toDropletArtifact(droplet: Droplet): Record<string, unknown> {
  const { processTypes, ports } = droplet.spec;
  const all = { guid: guidOf(droplet), ...toRunnable(droplet), processTypes, ports };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
