// Takes a Build through its Staging to a Droplet, or to the error that ended it.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Build } from "../../crds/build/build.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { FeatureFlag } from "../../crds/feature-flag/feature-flag.ts";
import { flagObjectName, isEnabled } from "../../crds/feature-flag/flags.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Package } from "../../crds/package/package.ts";
import { Route } from "../../crds/route/route.ts";
import { routeURL } from "../../crds/route/route-url.ts";
import { Stack } from "../../crds/stack/stack.ts";
import { Staging } from "../../crds/staging/staging.ts";
import { defineController, watch, type Controller, type ReconcileContext, type ReconcileResult } from "../../kube/controller/controller.ts";
import { APP_INDEX, appKey, belonging, byApp, getApp } from "../shared/app-owned.ts";
import { chooseClass } from "../shared/choose-class.ts";
import { snapshotEnv } from "../shared/env-snapshot.ts";
import { KEPT, planSurplus, removeAll } from "../shared/history-limits.ts";
import { byGUID, GUID_INDEX, settleGUID } from "../shared/identity.ts";
import { findDomain, getPlace, PLACE_READS, type Place } from "../shared/tenancy.ts";
import { findObstacle, imageArtifact, lifecycleOf, outcomeOf, planBuildpacks, planDroplet, planEnded, planFailure, planStaging } from "./plan.ts";

const PACKAGE_INDEX = "build/package";
const OPEN_INDEX = "build/open";

export interface BuildOptions {
  /** The address of the CF API, for VCAP_APPLICATION. */
  apiURL: string;
}

export function buildController({ apiURL }: BuildOptions): Controller {
  return defineController({
    name: "build",
    for: Build,
    owns: [Staging],
    reads: [...PLACE_READS, Buildpack, Stack, Droplet, Route, FeatureFlag],
    indexes: {
      [GUID_INDEX]: byGUID,
      [APP_INDEX]: byApp,
      [PACKAGE_INDEX]: (build: Build) => [appKey(build.metadata.namespace, build.spec.packageRef.name)],
      // Only open builds wait for apps and classes: a hundred ended ones need not be woken.
      [OPEN_INDEX]: (build: Build) => (isEnded(build) ? [] : ["any", ...byApp(build)]),
    },
    watches: [
      watch(App, (app) => ({ [OPEN_INDEX]: appKey(app.metadata.namespace, app.metadata.name) })),
      watch(Package, (pkg) => ({ [PACKAGE_INDEX]: appKey(pkg.metadata.namespace, pkg.metadata.name) })),
      watch(BackendClass, () => ({ [OPEN_INDEX]: "any" })),
    ],

    async reconcile(build, context) {
      const app = getApp(context.read, build);
      const appGUID = settleGUID(App, app, context).guid;
      const { guid, labels } = settleGUID(Build, build, context);
      const base = belonging(app, appGUID, labels);
      if (isEnded(build)) {
        await removeSurplus(build, context);
        return { ...base, ...planEnded(build) };
      }
      return { ...(await advance({ build, guid, app, appGUID, apiURL }, context)), ...base };
    },
  });
}

function isEnded(build: Build): boolean {
  return build.status?.state === "Staged" || build.status?.state === "Failed";
}

interface Open {
  build: Build;
  guid: string;
  app: App;
  appGUID: string;
  apiURL: string;
}

const STAGING = { state: "Staging" } as const;

async function advance(open: Open, context: ReconcileContext): Promise<ReconcileResult> {
  const { build, app, appGUID } = open;
  const { namespace } = build.metadata;
  const pkg = context.read.find(Package, { namespace, name: build.spec.packageRef.name });
  if (!pkg) return { status: STAGING, ready: { status: "False", reason: "PackageMissing", message: `package ${build.spec.packageRef.name} does not exist` } };
  const lifecycle = lifecycleOf(build, app, pkg);
  const obstacle = findObstacle(pkg, lifecycle, (flag) => isEnabled(flag, context.read.find(FeatureFlag, { namespace: SYSTEM_NAMESPACE, name: flagObjectName(flag) })));
  if (obstacle) return planFailure(obstacle);
  if (pkg.status?.state !== "Ready") return { status: STAGING, ready: { status: "False", reason: "PackageNotReady", message: `package ${pkg.metadata.name} is not ready` } };
  if (lifecycle.type === "docker") return staged(build, planDroplet(build, app, appGUID, { lifecycleType: "docker", artifact: imageArtifact(pkg) }));

  const staging = context.read.find(Staging, { namespace, name: build.metadata.name });
  const outcome = outcomeOf(staging);
  if (outcome && "code" in outcome) return planFailure(outcome);
  if (outcome) return staged(build, planDroplet(build, app, appGUID, { lifecycleType: lifecycle.type, artifact: outcome.artifact }));
  const running: ReconcileResult = { status: STAGING, ready: { status: "False", reason: "Staging", message: `package ${pkg.metadata.name} is being built` } };
  // A Staging never changes, and what it was made from may have: it is not planned again.
  return staging ? running : { ...running, ...(await begin(open, pkg, lifecycle, context)) };
}

/** The droplet comes first: a Build that says Staged names one that exists. */
function staged(build: Build, droplet: ReturnType<typeof planDroplet>): ReconcileResult {
  return { createOnce: [droplet], children: [], status: { state: "Staged", droplet: build.metadata.name, error: undefined } };
}

async function begin(open: Open, pkg: Package, lifecycle: ReturnType<typeof lifecycleOf>, { read, client }: ReconcileContext): Promise<ReconcileResult> {
  const { build, app, appGUID, guid, apiURL } = open;
  const place = getPlace(read, build.metadata.namespace ?? "");
  const chosen = planBuildpacks(lifecycle, read.list(Buildpack));
  if ("code" in chosen) return planFailure(chosen);
  const named = build.spec.builder ?? app.spec.builder;
  const builder = chooseClass(read.list(BackendClass), { role: "builder", named, able: { capability: "lifecycles", word: lifecycle.type } });
  const { env } = await snapshotEnv(app, appGUID, client);
  const defaultStack = read.list(Stack).find((stack) => stack.spec.default)?.spec.name;
  const uris = urisOf(app, place, read);
  const input = { build, buildGUID: guid, app, appGUID, pkg, lifecycle, ...chosen, place, class: builder.metadata.name, env, defaultStack, apiURL, uris };
  return { children: [planStaging(input)] };
}

function urisOf(app: App, place: Place, read: ReconcileContext["read"]): string[] {
  const routes = read.list(Route, { namespace: app.metadata.namespace }).filter((route) => route.spec.destinations.some((destination) => destination.app === app.metadata.name));
  return routes.flatMap((route) => {
    const domain = findDomain(read, route, place);
    return domain ? [routeURL(route.spec, domain.spec.name)] : [];
  });
}

async function removeSurplus(build: Build, { read, client }: ReconcileContext): Promise<void> {
  const siblings = read.byIndex(Build, APP_INDEX, byApp(build)[0] ?? "", build.metadata.namespace);
  if (siblings.length <= KEPT.builds) return;
  const behind = new Set(read.list(Droplet, { namespace: build.metadata.namespace }).flatMap((droplet) => droplet.spec.buildRef?.name ?? []));
  await removeAll(client, Build, planSurplus(siblings, KEPT.builds, (candidate) => !isEnded(candidate) || behind.has(candidate.metadata.name)));
}
