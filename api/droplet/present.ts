// Presents a Droplet as CF's JSON.
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Package } from "../../crds/package/package.ts";
import { hideUserinfo } from "../../crds/hide-userinfo.ts";
import { appGUIDOf } from "../cf/app/owner-app.ts";
import { dropletState } from "../cf/droplet/droplet-state.ts";
import { presentIdentity, link, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import type { Session } from "../access/session.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";
import { APP_SECRETS } from "../cf/app/app-secrets.ts";

export function presentDroplet(cache: ClusterCache, droplet: Droplet, base: string, hidden?: string): object {
  const at = presentIdentity(cache, Droplet, droplet);
  const app = appGUIDOf(cache, droplet);
  const { spec } = droplet;
  const isDocker = spec.lifecycleType === "docker";
  const digest = spec.content?.digest.replace(/^sha256:/, "");
  return {
    ...at,
    state: dropletState(droplet),
    error: null,
    lifecycle: { type: spec.lifecycleType, data: {} },
    checksum: digest ? { type: "sha256", value: digest } : null,
    buildpacks: isDocker
      ? null
      : spec.buildpacks.map((one) => ({
          name: hideUserinfo(one.name),
          detect_output: one.detectOutput ?? "",
          buildpack_name: hideUserinfo(one.buildpackName ?? one.name),
          version: one.version ?? null,
        })),
    stack: isDocker ? null : (spec.stack ?? null),
    image: spec.image ?? null,
    execution_metadata: hidden ?? "",
    process_types: hidden ? { redacted_message: hidden } : spec.processTypes,
    relationships: { app: toOneRelationship(app) },
    ...presentMetadata(droplet),
    links: links(cache, droplet, { base, guid: at.guid, app }),
  };
}

/** Whether it can be downloaded. */
function isFile({ spec }: Droplet): boolean {
  return spec.content !== undefined || spec.kind === "cnb";
}

function links(
  cache: ClusterCache,
  droplet: Droplet,
  { base, guid, app }: { base: string; guid: string; app: string },
): object {
  const found =
    droplet.spec.packageRef &&
    cache.store(Package).find({ namespace: droplet.metadata.namespace ?? "", name: droplet.spec.packageRef.name });
  const self = `${base}/v3/droplets/${guid}`;
  return {
    self: link(self),
    app: link(`${base}/v3/apps/${app}`),
    assign_current_droplet: link(`${base}/v3/apps/${app}/relationships/current_droplet`, "PATCH"),
    ...(found && { package: link(`${base}/v3/packages/${cache.guid(Package, found)}`) }),
    ...(dropletState(droplet) === "AWAITING_UPLOAD" && { upload: link(`${self}/upload`, "POST") }),
    ...(isFile(droplet) && { download: link(`${self}/download`) }),
  };
}

/** Start commands may hold secrets. */
export function redactionFor(session: Session, droplet: Droplet): string | undefined {
  const shown = session.allows({
    ...APP_SECRETS,
    namespace: droplet.metadata.namespace ?? "",
    name: droplet.spec.appRef.name,
  });
  return shown ? undefined : "[PRIVATE DATA HIDDEN]";
}
