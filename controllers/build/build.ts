// Runs a Build: creates its Staging, then its Droplet or the error of its failure.
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Build } from "../../crds/build/build.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { EnvironmentGroup } from "../../crds/environment-group/environment-group.ts";
import { groupVariables } from "../../crds/environment-group/group-variables.ts";
import { FeatureFlag } from "../../crds/feature-flag/feature-flag.ts";
import { toFlagObjectName, isFlagEnabled } from "../../crds/feature-flag/flags.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Package } from "../../crds/package/package.ts";
import { Route } from "../../crds/route/route.ts";
import { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Stack } from "../../crds/stack/stack.ts";
import { Staging } from "../../crds/staging/staging.ts";
import {
  defineController,
  watch,
  type Controller,
  type ReconcileContext,
  type ReconcileResult,
} from "../../kube/controller/controller.ts";
import { OWNING_APP_INDEX, appKey, toAppOwnership, indexByApp, getApp } from "../shared/app-owned.ts";
import { chooseClass } from "../shared/choose-class.ts";
import { snapshotEnv } from "../shared/env-snapshot.ts";
import { snapshotServices } from "../shared/services-snapshot.ts";
import { HISTORY_LIMITS, planExcess, deleteAll } from "../shared/history-limits.ts";
import { indexByGUID, GUID_INDEX, resolveGUID } from "../shared/guid.ts";
import { listRouteURLs } from "../shared/route-urls.ts";
import { getTenancy, TENANCY_KINDS } from "../shared/tenancy.ts";
import {
  findBuildError,
  toImageArtifact,
  effectiveLifecycle,
  toStagingOutcome,
  planBuildpacks,
  planDroplet,
  planFinished,
  planFailure,
  planStaging,
  type StagingInput,
} from "./plan.ts";
import { substituteStacks } from "./substitute-stacks.ts";

const PACKAGE_INDEX = "controllers/package";
const OPEN_INDEX = "controllers/open";

export interface BuildOptions {
  /** The address of the CF API, for VCAP_APPLICATION. */
  apiURL: string;
}

export function buildController({ apiURL }: BuildOptions): Controller {
  return defineController({
    name: "build",
    for: Build,
    owns: [Staging],
    reads: [
      ...TENANCY_KINDS,
      Buildpack,
      Stack,
      Droplet,
      Route,
      FeatureFlag,
      EnvironmentGroup,
      ServiceInstance,
      ServiceBinding,
    ],
    indexes: {
      [GUID_INDEX]: indexByGUID,
      [OWNING_APP_INDEX]: indexByApp,
      [PACKAGE_INDEX]: (build: Build) => [appKey(build.metadata.namespace, build.spec.packageRef.name)],
      // Only unfinished builds wait for apps and classes, so finished ones are not enqueued.
      [OPEN_INDEX]: (build: Build) => (isFinished(build) ? [] : ["any", ...indexByApp(build)]),
    },
    watches: [
      watch(App, (app) => ({ [OPEN_INDEX]: appKey(app.metadata.namespace, app.metadata.name) })),
      watch(Package, (pkg) => ({ [PACKAGE_INDEX]: appKey(pkg.metadata.namespace, pkg.metadata.name) })),
      watch(BackendClass, () => ({ [OPEN_INDEX]: "any" })),
    ],

    async reconcile(build, context) {
      const app = getApp(context.read, build);
      const appGUID = resolveGUID(App, app, context).guid;
      const { guid, labels } = resolveGUID(Build, build, context);
      const base = toAppOwnership(app, appGUID, labels);
      if (isFinished(build)) {
        await deleteExcessBuilds(build, context);
        return { ...base, ...planFinished(build) };
      }
      return { ...(await reconcileOpenBuild({ build, guid, app, appGUID, apiURL }, context)), ...base };
    },
  });
}

function isFinished(build: Build): boolean {
  return build.status?.state === "Staged" || build.status?.state === "Failed";
}

interface OpenBuild {
  build: Build;
  guid: string;
  app: App;
  appGUID: string;
  apiURL: string;
}

function planWaiting(reason: string, message: string): ReconcileResult {
  return { status: { state: "Staging" }, ready: { status: "False", reason, message } };
}

async function reconcileOpenBuild(openBuild: OpenBuild, context: ReconcileContext): Promise<ReconcileResult> {
  const { build, app, appGUID } = openBuild;
  const { namespace } = build.metadata;
  const pkg = context.read.find(Package, { namespace, name: build.spec.packageRef.name });
  if (!pkg) return planWaiting("PackageMissing", `package ${build.spec.packageRef.name} does not exist`);
  const lifecycle = effectiveLifecycle(build, app, pkg);
  const error = findBuildError(pkg, lifecycle, (flag) =>
    isFlagEnabled(flag, context.read.find(FeatureFlag, { namespace: SYSTEM_NAMESPACE, name: toFlagObjectName(flag) })),
  );
  if (error) return planFailure(error);
  if (pkg.status?.state !== "Ready")
    return planWaiting("PackageNotReady", `package ${pkg.metadata.name} is not ready; its Ready condition says why`);
  if (lifecycle.type === "docker")
    return planStaged(
      build,
      planDroplet(build, app, appGUID, { lifecycleType: "docker", artifact: toImageArtifact(pkg) }),
    );

  const staging = context.read.find(Staging, { namespace, name: build.metadata.name });
  const outcome = toStagingOutcome(staging);
  if (outcome && "code" in outcome) return planFailure(outcome);
  if (outcome)
    return planStaged(
      build,
      planDroplet(build, app, appGUID, { lifecycleType: lifecycle.type, artifact: outcome.artifact }),
    );
  const running = planWaiting("Staging", `package ${pkg.metadata.name} is being built`);
  // A Staging is immutable but its inputs are not, so it is not planned again.
  return staging ? running : { ...running, ...(await startStaging(openBuild, pkg, lifecycle, context)) };
}

/** Creates the droplet first, so that a Staged Build always names an existing one. Somebody waits for the status: the Staging goes after that. */
function planStaged(build: Build, droplet: ReturnType<typeof planDroplet>): ReconcileResult {
  return {
    createOnce: [droplet],
    status: { state: "Staged", droplet: build.metadata.name, error: undefined },
  };
}

async function startStaging(
  openBuild: OpenBuild,
  pkg: Package,
  given: ReturnType<typeof effectiveLifecycle>,
  { read, client }: ReconcileContext,
): Promise<ReconcileResult> {
  const { build, app, appGUID, guid, apiURL } = openBuild;
  const tenancy = getTenancy(read, build.metadata.namespace ?? "");
  const stacks = read.list(Stack, { namespace: SYSTEM_NAMESPACE });
  const { lifecycle, buildpacks, defaultStack } = substituteStacks(stacks, {
    lifecycle: given,
    buildpacks: read.list(Buildpack, { namespace: SYSTEM_NAMESPACE }),
  });
  const named = build.spec.builder ?? app.spec.builder;
  const builder = chooseClass(read.list(BackendClass), {
    role: "builder",
    className: named,
    requires: { capability: "lifecycles", word: lifecycle.type },
  });
  const buildpackPlan = planBuildpacks(lifecycle, buildpacks, builder);
  if ("code" in buildpackPlan) return planFailure(buildpackPlan);
  const input = {
    build,
    buildGUID: guid,
    app,
    appGUID,
    pkg,
    lifecycle,
    ...buildpackPlan,
    tenancy,
    class: builder.metadata.name,
    groupEnv: groupVariables(read.find(EnvironmentGroup, { namespace: SYSTEM_NAMESPACE, name: "staging" })),
    platformCache: builder.spec.buildCache,
    ...(await snapshotVariables(app, appGUID, { read, client })),
    defaultStack,
    apiURL,
    uris: listRouteURLs(read, app.metadata, tenancy),
  };
  return { children: [planStaging(input)] };
}

async function snapshotVariables(
  app: App,
  guid: string,
  context: Pick<ReconcileContext, "read" | "client">,
): Promise<Pick<StagingInput, "env" | "services">> {
  const { env } = await snapshotEnv(app, guid, context.client);
  return { env, services: (await snapshotServices({ app, guid, delivery: "environment" }, context)).env };
}

async function deleteExcessBuilds(build: Build, { read, client }: ReconcileContext): Promise<void> {
  const siblings = read.byIndex(Build, OWNING_APP_INDEX, indexByApp(build)[0] ?? "", build.metadata.namespace);
  if (siblings.length <= HISTORY_LIMITS.builds) return;
  const referenced = new Set(
    read.list(Droplet, { namespace: build.metadata.namespace }).flatMap((droplet) => droplet.spec.buildRef?.name ?? []),
  );
  await deleteAll(
    client,
    Build,
    planExcess(
      siblings,
      HISTORY_LIMITS.builds,
      (candidate) => !isFinished(candidate) || referenced.has(candidate.metadata.name),
    ),
  );
}
