// Presents a Package as CF's JSON.
import { Package } from "../../crds/package/package.ts";
import { appGUIDOf } from "../cf/app/owner-app.ts";
import { toPackageState } from "../cf/package/package-state.ts";
import { presentIdentity, link, presentMetadata, toOneRelationship } from "../http/presentation.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

export function presentPackage(cache: ClusterCache, found: Package, base: string): object {
  const at = presentIdentity(cache, Package, found);
  const app = appGUIDOf(cache, found);
  const self = `${base}/v3/packages/${at.guid}`;
  const isBits = found.spec.type === "bits";
  return {
    ...at,
    type: found.spec.type,
    data: isBits
      ? bitsData(found)
      : {
          image: found.spec.image,
          username: found.spec.username ?? null,
          password: found.spec.imagePullSecretRef ? "***" : null,
        },
    state: toPackageState(found),
    relationships: { app: toOneRelationship(app) },
    ...presentMetadata(found),
    links: {
      self: link(self),
      ...(isBits && { upload: link(`${self}/upload`, "POST"), download: link(`${self}/download`) }),
      app: link(`${base}/v3/apps/${app}`),
    },
  };
}

function bitsData(found: Package): object {
  return {
    error: found.status?.error ?? null,
    checksum: { type: "sha256", value: found.spec.content?.digest.replace(/^sha256:/, "") ?? null },
  };
}
