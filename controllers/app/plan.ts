// Plans an App: missing Processes, Revisions to keep, and its status. Pure.
import type { App } from "../../crds/app/app.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { deriveGUID } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { displayNameOf, generatedName } from "../../crds/object-names.ts";
import { processName } from "../../crds/process/defaults.ts";
import { Process } from "../../crds/process/process.ts";
import { listReleases } from "../../crds/revision/releases.ts";
import { Revision } from "../../crds/revision/revision.ts";
import type { Rollout } from "../../crds/rollout/rollout.ts";
import { leadsTo } from "../../crds/route/destinations.ts";
import type { Route } from "../../crds/route/route.ts";
import { creationSortKey } from "../../crds/guid.ts";
import type { Draft } from "../../kube/client/client.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { toOwnerReference } from "../shared/app-owned.ts";
import { findDropletName, findOpenRollout, findRunningRevision, type AppHistory } from "../shared/rollouts.ts";
import { ownState } from "../../crds/rollout/rules.ts";
import { HISTORY_LIMITS } from "../shared/history-limits.ts";
import { findCurrentRevision, type Snapshot } from "./snapshot.ts";

/** Milliseconds after an App's creation before missing processes are created: a client may apply them together with the App. */
export const PROCESS_CREATION_GRACE_MS = 2000;

/** The process types of every app: web, and those of its droplet. */
export function expectedProcessTypes(droplet: Droplet | undefined): string[] {
  return [...new Set(["web", ...Object.keys(droplet?.spec.processTypes ?? {})])];
}

/**
 * Drafts of the missing processes. They set only appRef and type, so a client that applies a process later owns all other fields without a conflict.
 * `waitMs` is the rest of the grace in milliseconds; 0 once it is over.
 */
export function planMissingProcesses(
  app: App,
  guid: string,
  { processes, droplet, now }: { processes: readonly Process[]; droplet: Droplet | undefined; now: Date },
): { drafts: Draft[]; waitMs: number } {
  const missing = expectedProcessTypes(droplet).filter(
    (type) => !processes.some((process) => process.spec.type === type),
  );
  const age = now.getTime() - Date.parse(app.metadata.creationTimestamp ?? now.toISOString());
  if (missing.length > 0 && age < PROCESS_CREATION_GRACE_MS)
    return { drafts: [], waitMs: PROCESS_CREATION_GRACE_MS - age };
  return { drafts: missing.map((type) => planProcess(app, guid, type)), waitMs: 0 };
}

function planProcess(app: App, guid: string, type: string): Draft {
  // The web process presents its app's GUID and has no GUID label.
  const own: Record<string, string> =
    type === "web" ? {} : { [LABELS.guid]: deriveGUID("process", app.metadata.uid ?? "", type) };
  return {
    apiVersion: apiVersionOf(Process),
    kind: Process.kind,
    metadata: {
      name: processName(app.metadata.name, type),
      namespace: app.metadata.namespace,
      labels: { ...own, [LABELS.app]: guid },
      ownerReferences: [toOwnerReference(app)],
    },
    spec: { appRef: { name: app.metadata.name }, type },
  };
}

/** The Revision object of a snapshot. Its name derives from app and version, so two replicas cannot create two. */
export function planRevision(app: App, guid: string, spec: Revision["spec"]): Draft {
  const unique = `${app.metadata.uid}/${spec.version}`;
  return {
    apiVersion: apiVersionOf(Revision),
    kind: Revision.kind,
    metadata: {
      name: generatedName(`${app.metadata.name}-${spec.version}`, unique),
      namespace: app.metadata.namespace,
      labels: { [LABELS.guid]: deriveGUID("revision", unique), [LABELS.app]: guid },
      ownerReferences: [toOwnerReference(app)],
    },
    spec,
  };
}

export interface AppPlan {
  /** The Revision to create, if any. */
  revision?: Draft;
  status: { name: string; revision: string | undefined; observedRestart?: string; url: string | undefined };
}

/** Plans the status of an app, and the Revision of its snapshot if one was due. */
export function planAppStatus(
  app: App,
  guid: string,
  state: AppHistory & { snapshot?: Snapshot; isStartDue: boolean; routes: readonly Route[] },
): AppPlan {
  const base = { name: displayNameOf(app), url: findFirstURL(app, state.routes) };
  if (app.spec.state === "Stopped") return { status: { ...base, revision: undefined } };
  const restart = app.spec.restart === undefined ? {} : { observedRestart: app.spec.restart };
  const current = findCurrentRevision(app, state.revisions) && findRunningRevision(app, state);
  if (!state.snapshot) return { status: { ...base, revision: current?.metadata.name } };
  // A snapshot for a Rollout waits beside the running Revision until the Rollout has replaced the instances.
  if (!state.isStartDue)
    return {
      ...("next" in state.snapshot && { revision: planRevision(app, guid, state.snapshot.next) }),
      status: { ...base, revision: current?.metadata.name },
    };
  if ("reuse" in state.snapshot)
    return { status: { ...base, revision: state.snapshot.reuse.metadata.name, ...restart } };
  const revision = planRevision(app, guid, state.snapshot.next);
  return { revision, status: { ...base, revision: revision.metadata.name, ...restart } };
}

function findFirstURL(app: App, routes: readonly Route[]): string | undefined {
  const mapped = routes.filter((route) =>
    route.spec.destinations.some((destination) => leadsTo(route, destination, app.metadata)),
  );
  return mapped
    .toSorted((a, b) => (creationSortKey(a) < creationSortKey(b) ? -1 : 1))
    .find((route) => route.status?.url)?.status?.url;
}

/** The droplet that the open Rollout gives to the app, a published field; after a cancellation the former one. Undefined when it stays. */
export function planDroplet(app: App, history: AppHistory): { droplet: { name: string } } | undefined {
  const rollout = findOpenRollout(history.rollouts);
  if (!rollout) return undefined;
  const isBack = ownState(rollout) === "Canceling";
  const name = isBack ? findFormerDroplet(rollout, app, history) : findDropletName(rollout, app, history);
  return name === undefined ? undefined : { droplet: { name } };
}

function findFormerDroplet({ spec }: Rollout, app: App, history: AppHistory): string | undefined {
  return (spec.previousDroplet ?? findRunningRevision(app, history)?.spec.dropletRef)?.name;
}

/** Number of former Revisions kept that cf does not show, since they repeat one that it shows. */
const KEPT_REPEATS = 5;

/** Revisions beyond the newest hundred that cf shows, repeats that ran before, and the env Secrets that no other Revision names. */
export function planOldRevisions(
  app: App,
  revisions: readonly Revision[],
): { revisions: Revision[]; secrets: string[] } {
  const newestFirst = revisions.toSorted((a, b) => b.spec.version - a.spec.version);
  const shown = new Set(listReleases(revisions));
  const beyond = [
    ...newestFirst.filter((revision) => shown.has(revision)).slice(HISTORY_LIMITS.revisions),
    ...newestFirst.filter((revision) => !shown.has(revision)).slice(KEPT_REPEATS),
  ];
  const old = beyond.filter(
    (revision) => revision.metadata.name !== app.status?.revision && !revision.metadata.deletionTimestamp,
  );
  const kept = new Set(newestFirst.filter((revision) => !old.includes(revision)).flatMap(listSecretNames));
  return { revisions: old, secrets: [...new Set(old.flatMap(listSecretNames))].filter((name) => !kept.has(name)) };
}

function listSecretNames(revision: Revision): string[] {
  const variables = [...revision.spec.env, ...(revision.spec.services ?? [])];
  const files = revision.spec.serviceFiles;
  return [
    ...variables.flatMap((variable) => (variable.valueFrom ? [variable.valueFrom.secretKeyRef.name] : [])),
    ...(files ? [files.secretRef.name] : []),
  ];
}
