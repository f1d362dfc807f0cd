// The audit events of builds that end and of new revisions, with CF's metadata. Only reads.
import { App } from "../../crds/app/app.ts";
import type { AuditEvent } from "../../crds/audit-log/audit-log.ts";
import type { Build } from "../../crds/build/build.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { eventGUID, guidOf } from "../../crds/guid.ts";
import { hideUserinfo } from "../../crds/hide-userinfo.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { Package } from "../../crds/package/package.ts";
import { Revision } from "../../crds/revision/revision.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { findTenancy } from "../shared/tenancy.ts";

/** Actor where no user is known, as in CF. */
const SYSTEM = { guid: "system", type: "system", name: "system" };
/** Longest message of a failed build. */
const MAX_MESSAGE = 1_000;

/** An event when the build has ended since `old`. */
export function listBuildEvents(read: Reader, old: Build, build: Build, now: Date): AuditEvent[] {
  const state = build.status?.state ?? "Staging";
  if (old.status?.state === state || state === "Staging") return [];
  const { guid, name } = build.spec.createdBy ?? { guid: "", name: "" };
  const data = state === "Staged" ? stagedData(read, build) : failedData(build);
  return ofApp(read, build, now, {
    type: state === "Staged" ? "audit.app.build.staged" : "audit.app.build.failed",
    actor: { guid, type: "user", name },
    data: { build_guid: guidOf(build), package_guid: packageGUID(read, build), ...data },
  });
}

/** An event unless an older revision is the same to cf, or the app's feature revisions is off. */
export function listRevisionEvents(read: Reader, revision: Revision, now: Date): AuditEvent[] {
  const { release, version, appRef } = revision.spec;
  const namespace = revision.metadata.namespace ?? "";
  const isKnown = read
    .list(Revision, { namespace })
    .some(({ spec }) => spec.appRef.name === appRef.name && spec.release === release && spec.version < version);
  if (release === undefined || isKnown) return [];
  return ofApp(read, revision, now, {
    type: "audit.app.revision.create",
    actor: SYSTEM,
    data: { revision_guid: guidOf(revision), revision_version: release },
  });
}

function stagedData(read: Reader, { metadata: { namespace = "" }, status }: Build): Record<string, unknown> {
  const droplet = read.find(Droplet, { namespace, name: status?.droplet ?? "" });
  const buildpacks = droplet?.spec.buildpacks.map(({ name, buildpackName, version }) => ({
    name: hideUserinfo(name),
    buildpack_name: buildpackName === undefined ? null : hideUserinfo(buildpackName),
    version: version ?? null,
  }));
  return { droplet_guid: droplet ? guidOf(droplet) : "", buildpacks: buildpacks ?? null };
}

function failedData({ status }: Build): Record<string, unknown> {
  const { code = "StagingError", message = "" } = status?.error ?? {};
  return { error_id: code, error_message: hideUserinfo(message).slice(0, MAX_MESSAGE) };
}

function packageGUID(read: Reader, { metadata: { namespace = "" }, spec }: Build): string {
  const found = read.find(Package, { namespace, name: spec.packageRef.name });
  return found ? guidOf(found) : "";
}

/** None while the app, its space or its org is missing. */
function ofApp(
  read: Reader,
  part: Build | Revision,
  now: Date,
  event: Pick<AuditEvent, "type" | "actor"> & { data: Record<string, unknown> },
): AuditEvent[] {
  const namespace = part.metadata.namespace ?? "";
  const app = read.find(App, { namespace, name: part.spec.appRef.name });
  const tenancy = findTenancy(read, namespace);
  if (!app || !tenancy) return [];
  return [
    {
      ...event,
      guid: eventGUID(now.getTime(), part.metadata.uid ?? "", event.type),
      at: now.toISOString(),
      target: { guid: guidOf(app), type: "app", name: displayNameOf(app) },
      spaceGUID: tenancy.space.guid,
      orgGUID: tenancy.org.guid,
      data: JSON.stringify(event.data),
    },
  ];
}
