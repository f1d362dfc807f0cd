// Presents a Revision as CF's JSON.
import { Droplet } from "../../crds/droplet/droplet.ts";
import type { Sidecar } from "../../crds/sidecar.ts";
import { Revision } from "../../crds/revision/revision.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { appGUIDOf } from "../cf/app/owner-app.ts";
import { deployableDroplet } from "../cf/rollout/app-revisions.ts";
import { link, presentIdentity, presentMetadata, toOneRelationship } from "../http/presentation.ts";

export function presentRevision(cache: ClusterCache, revision: Revision, base: string): object {
  const at = presentIdentity(cache, Revision, revision);
  const app = appGUIDOf(cache, revision);
  const { spec } = revision;
  return {
    ...at,
    version: spec.release ?? spec.version,
    droplet: { guid: dropletGUID(cache, revision) },
    processes: Object.fromEntries(spec.processes.map(({ type, command }) => [type, { command: command ?? null }])),
    sidecars: (spec.sidecars ?? []).map(presentSidecar),
    description: spec.description,
    deployable: deployableDroplet(cache, revision) !== undefined,
    relationships: { app: toOneRelationship(app) },
    ...presentMetadata(revision),
    links: {
      self: link(`${base}/v3/revisions/${at.guid}`),
      app: link(`${base}/v3/apps/${app}`),
      environment_variables: link(`${base}/v3/revisions/${at.guid}/environment_variables`),
    },
  };
}

function presentSidecar({ name, command, processTypes, memoryMB }: Sidecar): object {
  return { name, command, process_types: processTypes, memory_in_mb: memoryMB ?? null };
}

/** The GUID of the droplet; null once it is deleted. */
function dropletGUID(cache: ClusterCache, { metadata, spec }: Revision): string | null {
  const droplet = cache.store(Droplet).find({ namespace: metadata.namespace ?? "", name: spec.dropletRef.name });
  return droplet ? cache.guid(Droplet, droplet) : null;
}

/** The variables of a revision, with their links. */
export function presentRevisionVariables(
  guids: { app: string; revision: string },
  { base, variables }: { base: string; variables: Record<string, string> },
): object {
  const self = `${base}/v3/revisions/${guids.revision}`;
  return {
    var: variables,
    links: {
      self: link(`${self}/environment_variables`),
      revision: link(self),
      app: link(`${base}/v3/apps/${guids.app}`),
    },
  };
}
