// Creates a deployment: a Rollout, and what CF changes of the app at once.
import { isDeepStrictEqual } from "node:util";
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { COMMAND_PATCHES } from "../../crds/cf-command-patches.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { newGUID } from "../../crds/guid.ts";
import { Revision } from "../../crds/revision/revision.ts";
import { Rollout } from "../../crds/rollout/rollout.ts";
import { Process } from "../../crds/process/process.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { readVariables, writeVariables } from "../cf/app/app-env.ts";
import { currentDroplet, requireStaged } from "../cf/app/current-droplet.ts";
import { newChildMetadata } from "../cf/app/owner-app.ts";
import { sidecarsOf } from "../cf/process/sidecars.ts";
import { createOrPatchProcess } from "../cf/process/create-process.ts";
import { requireAttached } from "../cf/process/detached.ts";
import { processesOf } from "../cf/process/processes.ts";
import { findRunnerProblem } from "../cf/process/runner-class.ts";
import { deployableDroplet, hasRevisions, releasesOf } from "../cf/rollout/app-revisions.ts";
import { readForRollback } from "../cf/rollout/revision-env.ts";
import { requireServiceFiles } from "../cf/service/require-service-files.ts";
import { unprocessable } from "../http/errors.ts";
import { requireDeploymentQuota } from "./quota.ts";
import { toRolloutSpec, type DeploymentInput } from "./payload.ts";

/** Revision or droplet that a deployment runs. */
interface Target {
  droplet: Droplet;
  /** The revision to return to. */
  revision?: Revision;
}

/** @throws CFError 422 in CF's words */
export async function createDeployment(session: Session, body: DeploymentInput): Promise<Rollout> {
  const app = findDeployableApp(session, body.relationships?.app?.data.guid);
  requireAttached(session, app);
  const target = findTarget(session, app, body);
  const processes = processesOf(session, app);
  const problem = findRunnerProblem(processes, target.droplet, session.cache.store(BackendClass).list());
  if (problem !== undefined) throw unprocessable(problem);
  const draft = toRollout(session, app, { body, target });
  requireDeploymentQuota(session, app, { processes, spec: Rollout.spec.parse(draft["spec"]) as Rollout["spec"] });
  await requireServiceFiles(session, app);
  const sidecars = target.revision && findFormerSidecars(session, app, target.revision);
  await addProcesses(session, app, target.droplet);
  // The Rollout itself takes over the revision's fields, so a refused Rollout changes nothing of the app.
  const rollout = await session.create(Rollout, draft);
  if (sidecars) await session.patch(App, app, { type: "merge", body: { spec: { sidecars } } });
  if (target.revision) await restoreVariables(session, app, target.revision);
  if (app.spec.state === "Stopped") await changeProcesses(session, app, body, target);
  await changeApp(session, app, target.droplet);
  return rollout;
}

function findDeployableApp(session: Session, guid: string | undefined): App {
  const app = guid === undefined ? undefined : session.find(App, guid);
  const { namespace = "" } = app?.metadata ?? {};
  if (!app || !session.allows({ verb: "create", on: Rollout, namespace }))
    throw unprocessable("Unable to use app. Ensure that the app exists and you have access to it.");
  requireNotSuspended(session, namespace);
  return app;
}

function findTarget(session: Session, app: App, { droplet, revision }: DeploymentInput): Target {
  if (revision?.guid) return findFormer(session, app, revision.guid);
  if (droplet?.guid) return { droplet: findDroplet(session, app, droplet.guid) };
  const current = currentDroplet(session.cache, app);
  if (!current)
    throw unprocessable(
      "Invalid droplet. Please specify a droplet in the request or set a current droplet for the app.",
    );
  return { droplet: current };
}

function findDroplet(session: Session, app: App, guid: string): Droplet {
  const droplet = session.find(Droplet, guid);
  if (droplet?.metadata.namespace === app.metadata.namespace && droplet?.spec.appRef.name === app.metadata.name)
    return requireStaged(droplet);
  throw unprocessable("Unable to assign current droplet. Ensure the droplet exists and belongs to this app.");
}

function findFormer(session: Session, app: App, guid: string): Target {
  const { cache } = session;
  if (!hasRevisions(app))
    throw unprocessable("Cannot create deployment from a revision for an app without revisions enabled");
  const releases = releasesOf(cache, app);
  const revision = releases.find((one) => cache.guid(Revision, one) === guid);
  if (!revision) throw unprocessable("The revision does not exist");
  const droplet = deployableDroplet(cache, revision);
  if (!droplet) throw unprocessable("Unable to deploy this revision, the droplet for this revision no longer exists.");
  if (isSameRelease(releases.at(-1), revision))
    throw unprocessable(
      "Unable to rollback. The code and configuration you are rolling back to is the same as the deployed revision.",
    );
  return { droplet, revision };
}

/** Whether two revisions have the same droplet, environment and commands. */
function isSameRelease(latest: Revision | undefined, { spec }: Revision): boolean {
  const contentOf = ({ dropletRef, env, processes, sidecars = [] }: Revision["spec"]): unknown => [
    dropletRef,
    env,
    processes.map(({ type, command }) => ({ type, command })),
    sidecars,
  ];
  return latest !== undefined && isDeepStrictEqual(contentOf(latest.spec), contentOf(spec));
}

/** As in CF, the app's variables become those of the revision at once. */
async function restoreVariables(session: Session, app: App, revision: Revision): Promise<void> {
  const wanted = await readForRollback(session, app, revision);
  const removed = Object.keys(await readVariables(session, app)).filter((name) => !Object.hasOwn(wanted, name));
  await writeVariables(session, app, { ...wanted, ...Object.fromEntries(removed.map((name) => [name, null])) });
}

/** As in CF, the app's sidecars become those of the revision at once; a buildpack's come with the droplet. Undefined: no change. @throws CFError 403 */
function findFormerSidecars(session: Session, app: App, { spec }: Revision): Revision["spec"]["sidecars"] {
  const ofBuildpacks = new Set(
    sidecarsOf(session.cache, app).flatMap(({ name, origin }) => (origin === "buildpack" ? [name] : [])),
  );
  const wanted = (spec.sidecars ?? []).filter(({ name }) => !ofBuildpacks.has(name));
  if (isDeepStrictEqual(wanted, app.spec.sidecars ?? [])) return undefined;
  const { namespace = "", name } = app.metadata;
  session.authorize({ verb: "update", on: App, subresource: "content", namespace, name });
  return wanted;
}

async function addProcesses(session: Session, app: App, droplet: Droplet): Promise<void> {
  const known = new Set(processesOf(session, app).map(({ spec }) => spec.type));
  for (const type of Object.keys(droplet.spec.processTypes))
    if (!known.has(type)) await createOrPatchProcess(session, app, type, {});
}

/** The processes of a stopped app change at once: there is nothing to replace. */
async function changeProcesses(session: Session, app: App, body: DeploymentInput, { revision }: Target): Promise<void> {
  const { instances, memoryMB, diskMB, logRateLimitBytesPerSecond } = toRolloutSpec(body);
  const sizes = omitUndefined({ instances, memoryMB, diskMB, logRateLimitBytesPerSecond });
  for (const process of processesOf(session, app)) {
    const former = revision?.spec.processes.find(({ type }) => type === process.spec.type);
    const spec = { ...(process.spec.type === "web" && sizes), ...(former && { command: former.command ?? null }) };
    if (Object.keys(spec).length > 0) await session.patch(Process, process, { type: "merge", body: { spec } });
  }
}

function toRollout(
  session: Session,
  app: App,
  { body, target }: { body: DeploymentInput; target: Target },
): Parameters<Session["create"]>[1] {
  return {
    metadata: newChildMetadata(session.cache, app, body.metadata),
    spec: omitUndefined({
      appRef: { name: app.metadata.name },
      ...toRolloutSpec(body),
      droplet: { name: target.droplet.metadata.name },
      previousDroplet: app.spec.droplet,
      revision: target.revision && { name: target.revision.metadata.name },
      startsApp: app.spec.state === "Stopped" ? true : undefined,
    }),
  };
}

async function changeApp(session: Session, app: App, droplet: Droplet): Promise<void> {
  const { name } = droplet.metadata;
  const start = app.spec.state === "Stopped" ? COMMAND_PATCHES.restart.patch(newGUID()).spec : {};
  const spec = { ...start, ...(app.spec.droplet?.name !== name && COMMAND_PATCHES.setDroplet.patch(name).spec) };
  if (Object.keys(spec).length > 0) await session.patch(App, app, { type: "merge", body: { spec } });
}
