// Manifests: applied to a space, compared with it, generated from an app. The request itself plans the writes and makes them as the caller.
import { hideUserinfo } from "../../crds/hide-userinfo.ts";
import { App } from "../../crds/app/app.ts";
import { displayNameOf, foldName } from "../../crds/object-names.ts";
import { Package } from "../../crds/package/package.ts";
import { Process } from "../../crds/process/process.ts";
import { defaultInstances, effectiveHealthCheck, effectiveReadinessCheck } from "../../crds/process/defaults.ts";
import { leadsTo } from "../../crds/route/destinations.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { createLoopBreaks } from "../../kube/server/loop-breaks.ts";
import { accepted, endpoint, type Endpoint } from "../routing/endpoint.ts";
import { CFError, unprocessable } from "../http/errors.ts";
import { toCFError } from "../http/error-translation.ts";
import { newJob } from "../jobs/jobs.ts";
import { appKey } from "../cf/app/owner-app.ts";
import { sortNewestFirst } from "../cf/creation-order.ts";
import { processesOf as appProcesses } from "../cf/process/processes.ts";
import { createOrPatchProcess } from "../cf/process/create-process.ts";
import { withoutNulls } from "../cf/without-nulls.ts";
import { readVariables, writeVariables } from "../cf/app/app-env.ts";
import { sidecarsOf } from "../cf/process/sidecars.ts";
import { saveSidecar } from "../cf/process/save-sidecar.ts";
import { isFlagOn } from "../cf/feature-flags.ts";
import { featureSwitches, toFeaturesPatch } from "../cf/app/app-features.ts";
import { toApp } from "../cf/app/new-app.ts";
import { adviseMissingBuildpack } from "../cf/app/missing-buildpack.ts";
import { checkNewAppsStack, defaultStack, findUnknownBuildpack, toLifecycle } from "../cf/app/lifecycle.ts";
import { redact } from "../cf/audit/redact-request.ts";
import { metadataOf, toMetadataPatch } from "../http/metadata.ts";
import { presentRouteOptions } from "../cf/route/route-options.ts";
import { routeURLOf } from "../cf/route/route-url.ts";
import { refusedByPolicy } from "../access/policy-check.ts";
import type { Session } from "../access/session.ts";
import { requireNotSuspended } from "../access/suspension.ts";
import { diffApplication, type Difference } from "./diff.ts";
import { toApplication, toYaml } from "./generate.ts";
import { differs } from "./merge-patch.ts";
import { lifecycleMismatch, lifecycleOf, processesOf, processSpec } from "./plan.ts";
import { applyRoutes, listUsableDomains } from "./routes.ts";
import { applyServices, listBoundNames } from "./services.ts";
import { manifestBody, MOST_PROBLEMS, parseApplication, type Application } from "./schema.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";

const DEADLINE_MS = 120_000;

function spaceNamespace(session: Session, guid: string): string {
  const space = session.get(Space, guid);
  if (!space.status?.namespace) throw unprocessable("The space is not ready yet. Try again.");
  return space.status.namespace;
}

/** The namespace of a space in which the caller may apply manifests. @throws CFError 403, 404, 422 */
function requireSpace(session: Session, guid: string): string {
  const namespace = spaceNamespace(session, guid);
  session.authorize({ verb: "create", on: App, namespace });
  requireNotSuspended(session, namespace);
  return namespace;
}

/** The space's apps by their folded names. */
function listApps(session: Session, namespace: string): Map<string, App> {
  return new Map(session.list(App, { namespaces: [namespace] }).map((app) => [foldName(displayNameOf(app)), app]));
}

/** Valid applications, or 422 with one error for each problem. */
async function parseEntries(session: Session, entries: readonly unknown[]): Promise<Application[]> {
  const flags = { isHashAllowed: isFlagOn(session, "hash_based_routing") };
  const takeBreak = createLoopBreaks();
  const applications: Application[] = [];
  const problems: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const parsed = parseApplication(entry, index, flags);
    if (parsed.application) applications.push(parsed.application);
    problems.push(...parsed.problems);
    if (problems.length >= MOST_PROBLEMS) break;
    await takeBreak();
  }
  if (problems.length > 0) throw new CFError("UnprocessableEntity", problems);
  return applications;
}

const apply = endpoint({
  method: "POST",
  path: "/v3/spaces/:guid/actions/apply_manifest",
  permission: { verb: "create", on: App },
  asks: [
    { verb: "patch", on: App },
    { verb: "update", on: App, subresource: "env" },
    { verb: "create", on: Process },
    { verb: "patch", on: Process },
    { verb: "create", on: Route },
    { verb: "patch", on: Route },
    { verb: "delete", on: Route },
    { verb: "update", on: Route, subresource: "wildcard" },
    { verb: "create", on: ServiceBinding },
  ],
  bodyFormat: "yaml",
  body: manifestBody,
  guard: ({ session, params }) => void requireSpace(session, params["guid"] ?? ""),
  timeoutMs: DEADLINE_MS,
  summary: "Apply a manifest",
  handler: async ({ session, params, body }) => {
    const guid = params.guid;
    const namespace = requireSpace(session, guid);
    const entries = await parseEntries(session, body.applications);
    // Reviewed permissions for the namespaces that routes will read must be known before the first write (reviewed-permissions.ts).
    listUsableDomains(session, namespace);
    await requirePolicy(session, namespace, entries);
    const pairs = await ensureApps(session, namespace, entries);
    for (const [index, { app }] of pairs.entries())
      session.recordAppEvent("apply_manifest", app, { request: { manifest: toAuditedYaml(body.applications[index]) } });
    return accepted(await newJob(session, "space.apply_manifest", guid, await applyAll(session, pairs)));
  },
});

/** The manifest of one application, without secrets. */
function toAuditedYaml(entry: unknown): string {
  return toYaml(redact(entry) as Record<string, unknown>);
}

interface AppEntry {
  app: App;
  entry: Application;
}

/** Kinds that a manifest writes. */
const WRITTEN_KINDS = [App, Process, Route, ServiceBinding];

/** Operator policy judges all applications before the first of them is written. @throws CFError 422, which names the applications */
async function requirePolicy(session: Session, namespace: string, entries: readonly Application[]): Promise<void> {
  const known = listApps(session, namespace);
  const takeBreak = createLoopBreaks();
  const refusals: string[] = [];
  const planned: KubeObject[] = [];
  for (const entry of entries) {
    const sentences = await session.rehearse(
      WRITTEN_KINDS,
      async (writer) => applyOne(writer, await findOrCreateApp(writer, { namespace, known }, entry), entry),
      planned,
    );
    refusals.push(...sentences.map((sentence) => forApplication(entry, sentence)));
    await takeBreak();
  }
  if (refusals.length > 0) throw refusedByPolicy(refusals);
}

function forApplication({ name }: Application, problem: string): string {
  return `For application '${name}': ${problem}`;
}

/** As in CF, every app exists before the job begins. */
async function ensureApps(session: Session, namespace: string, entries: readonly Application[]): Promise<AppEntry[]> {
  const pairs: AppEntry[] = [];
  const known = listApps(session, namespace);
  const takeBreak = createLoopBreaks();
  for (const entry of entries) {
    const app = await findOrCreateApp(session, { namespace, known }, entry);
    known.set(foldName(entry.name), app);
    pairs.push({ entry, app });
    await takeBreak();
  }
  return pairs;
}

async function findOrCreateApp(
  session: Session,
  { namespace, known }: { namespace: string; known: ReadonlyMap<string, App> },
  entry: Application,
): Promise<App> {
  const found = known.get(foldName(entry.name));
  const mismatch = found && lifecycleMismatch(entry, found.spec.lifecycle.type);
  if (mismatch) throw unprocessable(forApplication(entry, mismatch));
  try {
    return found ?? (await createApp(session, namespace, entry));
  } catch (error) {
    throw withAppName(error, entry);
  }
}

async function createApp(session: Session, namespace: string, entry: Application): Promise<App> {
  const lifecycle = lifecycleOf(entry);
  const unknown = lifecycle?.type !== "docker" && findUnknownBuildpack(session.cache, lifecycle?.data.buildpacks);
  if (unknown) {
    const advice = adviseMissingBuildpack(session.cache, unknown);
    throw unprocessable(`Specified unknown buildpack name: "${hideUserinfo(unknown)}"${advice}`);
  }
  checkNewAppsStack(session.cache, lifecycle);
  const draft = toApp(session.cache, namespace, {
    name: entry.name,
    ...(lifecycle && { lifecycle }),
    ...(entry.metadata && { metadata: entry.metadata }),
  });
  const app = await session.create(
    App,
    draft,
    () => new CFError("UniquenessError", `App with the name '${entry.name}' already exists.`),
  );
  // Created with its final size, so that no instance starts with the default size.
  const web = processesOf(entry).find((process) => process.type === "web");
  await createOrPatchProcess(session, app, "web", web ? withoutNulls(specOf(web, undefined)) : {});
  return app;
}

/** Prefixes a client's error with the application's name; other errors are unchanged. */
function withAppName(thrown: unknown, entry: Application): CFError {
  const error = toCFError(thrown);
  return error.key === "UnprocessableEntity" || error.key === "UniquenessError"
    ? new CFError(
        "UnprocessableEntity",
        error.errors.map(({ detail }) => forApplication(entry, detail)),
        { cause: error },
      )
    : error;
}

/** Stops at the first client error, keeping earlier writes, and returns its text as the job's error. */
async function applyAll(session: Session, pairs: readonly AppEntry[]): Promise<string[]> {
  const takeBreak = createLoopBreaks();
  for (const { app, entry } of pairs) {
    await takeBreak();
    try {
      await applyOne(session, app, entry);
    } catch (thrown) {
      const error = toCFError(thrown);
      if (error.status >= 500) throw thrown;
      return error.errors.map(({ detail }) => forApplication(entry, detail));
    }
  }
  return [];
}

async function applyOne(session: Session, app: App, entry: Application): Promise<void> {
  // Labels come first: operator policy may ask for them in the writes that follow.
  const updated = await updateApp(session, app, entry);
  const features = entry.features && toFeaturesPatch(updated, entry.features);
  if (features && differs(entry.features ?? {}, featureSwitches(updated)))
    await session.patch(App, updated, { type: "merge", body: { spec: { features } } });
  const known = appProcesses(session, app);
  for (const process of processesOf(entry)) {
    const current = known.find((one) => one.spec.type === process.type);
    const spec = specOf(process, current);
    if (!current || differs(spec, effectiveSpec(current))) await createOrPatchProcess(session, app, process.type, spec);
  }
  const whole = await applySidecars(session, updated, entry);
  await applyRoutes(session, whole, entry);
  if (entry.env) await writeVariables(session, whole, entry.env);
  if (entry.services) await applyServices(session, whole, entry.services);
}

/** As in CF, a sidecar of a known name is changed, any other added, none removed. */
async function applySidecars(session: Session, app: App, { sidecars = [] }: Application): Promise<App> {
  let current = app;
  for (const entry of sidecars) {
    const known = sidecarsOf(session.cache, current).find(({ name }) => name === entry.name);
    const { name, command, "process-types": processTypes, memory: memoryMB = known?.memoryMB } = entry;
    current = await saveSidecar(session, current, { name, command, processTypes, memoryMB }, known?.guid);
  }
  return current;
}

function specOf(entry: ReturnType<typeof processesOf>[number], current: Process | undefined): Record<string, unknown> {
  const check = effectiveHealthCheck(entry.type, current?.spec.healthCheck).type;
  return processSpec(entry, { check, readiness: effectiveReadinessCheck(current?.spec.readinessHealthCheck).type });
}

/** A process's spec with defaults filled in. */
function effectiveSpec({ spec }: Process): Record<string, unknown> {
  return {
    ...spec,
    instances: spec.instances ?? defaultInstances(spec.type),
    healthCheck: effectiveHealthCheck(spec.type, spec.healthCheck),
    readinessHealthCheck: effectiveReadinessCheck(spec.readinessHealthCheck),
  };
}

async function updateApp(session: Session, app: App, entry: Application): Promise<App> {
  const { type: _type, ...lifecycle } = toLifecycle(session.cache, lifecycleOf(entry));
  const body = {
    metadata: toMetadataPatch(entry.metadata, app),
    spec: { ...(Object.keys(lifecycle).length > 0 && { lifecycle }) },
  };
  const isNoChange =
    !differs(body.metadata, app.metadata as object as Record<string, unknown>) &&
    !differs(body.spec as Record<string, unknown>, app.spec);
  return isNoChange ? app : session.patch(App, app, { type: "merge", body });
}

async function generated(session: Session, app: App): Promise<Record<string, unknown>> {
  const [newest] = sortNewestFirst(session.list(Package, { index: ["app", appKey(app)] }));
  const protocolOf = (route: Route): string =>
    route.spec.destinations.find((one) => leadsTo(route, one, app.metadata))?.protocol ?? "http1";
  return toApplication({
    app,
    processes: appProcesses(session, app),
    sidecars: sidecarsOf(session.cache, app),
    variables: await readVariables(session, app),
    routes: session.list(Route, { index: ["app", appKey(app)] }).map((route) => ({
      url: routeURLOf(session.cache, route),
      protocol: protocolOf(route),
      options: route.spec.options && presentRouteOptions(route.spec.options),
    })),
    services: listBoundNames(session, app),
    metadata: metadataOf(app),
    image: newest?.spec.image,
    username: newest?.spec.username,
    stack: defaultStack(session.cache),
  });
}

const generate = endpoint({
  method: "GET",
  path: "/v3/apps/:guid/manifest",
  permission: { verb: "get", on: App, subresource: "secrets" },
  asks: [{ verb: "get", on: App, subresource: "env" }],
  summary: "Get the manifest of an app",
  handler: async ({ session, params }) => ({
    status: 200,
    body: toYaml(await generated(session, session.get(App, params.guid))),
    contentType: "application/x-yaml",
  }),
});

const diff = endpoint({
  method: "POST",
  path: "/v3/spaces/:guid/manifest_diff",
  permission: { verb: "create", on: App },
  asks: [{ verb: "get", on: App, subresource: "env" }],
  bodyFormat: "yaml",
  body: manifestBody,
  guard: ({ session, params }) => void requireSpace(session, params["guid"] ?? ""),
  summary: "Compare a manifest with the space",
  handler: async ({ session, params, body }) => {
    const namespace = requireSpace(session, params.guid);
    const entries = body.applications as Record<string, unknown>[];
    await parseEntries(session, entries);
    const known = listApps(session, namespace);
    const takeBreak = createLoopBreaks();
    const differences: Difference[] = [];
    for (const [index, entry] of entries.entries()) {
      const app = known.get(foldName(String(entry["name"])));
      differences.push(...diffApplication(entry, app && (await generated(session, app)), `/applications/${index}`));
      await takeBreak();
    }
    return { status: 201, body: { diff: differences } };
  },
});

export const manifestEndpoints: readonly Endpoint[] = [apply, generate, diff];
