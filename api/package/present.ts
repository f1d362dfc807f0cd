// How a Package goes out.
import { Package } from "../../crds/package/package.ts";
import { appGUIDOf } from "../lib/app-parts.ts";
import { identityOf, link, metadataMember, toOne } from "../lib/present.ts";
import type { View } from "../view.ts";
import type { PACKAGE_STATES } from "./payload.ts";

const STATES = { AwaitingUpload: "AWAITING_UPLOAD", ProcessingUpload: "PROCESSING_UPLOAD", Ready: "READY", Failed: "FAILED", Expired: "EXPIRED" } as const;

/** The CF state; before a controller has looked: what the spec says. */
export function packageState(found: Package): (typeof PACKAGE_STATES)[number] {
  const state = found.status?.state && STATES[found.status.state];
  if (found.spec.type === "docker") return state ?? "READY";
  // Content that the controller has not seen yet is being looked at, whatever its last word was.
  if (found.spec.content) return state === undefined || state === "AWAITING_UPLOAD" ? "PROCESSING_UPLOAD" : state;
  return state ?? "AWAITING_UPLOAD";
}

export function presentPackage(view: View, found: Package, base: string): object {
  const at = identityOf(view, Package, found);
  const app = appGUIDOf(view, found);
  const self = `${base}/v3/packages/${at.guid}`;
  const isBits = found.spec.type === "bits";
  return {
    ...at,
    type: found.spec.type,
    data: isBits ? bitsData(found) : { image: found.spec.image, username: null, password: found.spec.imagePullSecretRef ? "***" : null },
    state: packageState(found),
    relationships: { app: toOne(app) },
    ...metadataMember(found),
    links: {
      self: link(self),
      ...(isBits && { upload: link(`${self}/upload`, "POST"), download: link(`${self}/download`) }),
      app: link(`${base}/v3/apps/${app}`),
    },
  };
}

function bitsData(found: Package): object {
  return { error: found.status?.error ?? null, checksum: { type: "sha256", value: found.spec.content?.digest.replace(/^sha256:/, "") ?? null } };
}
