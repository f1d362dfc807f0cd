// Translates a Build to its Staging, and a Staging's status to a Droplet and the Build's result. Pure.
import { STAGING_TIMEOUT_SECONDS } from "../../crds/staging/staging-limits.ts";
import { createHash } from "node:crypto";
import { vcapApplication, isPlatformVariable } from "../../crds/app/vcap.ts";
import type { App } from "../../crds/app/app.ts";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import type { Build } from "../../crds/build/build.ts";
import { classicBuildpackName } from "../../crds/buildpack/classic-address.ts";
import { isAwaitingUpload } from "../../crds/buildpack/awaiting-upload.ts";
import { mayHaveBuildpack, resolveBuildpackName } from "../../crds/buildpack/builder-buildpacks.ts";
import type { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import type { EnvVar } from "../../crds/schema-fields.ts";
import { deriveGUID } from "../../crds/guid.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { FEATURE_DISABLED, type FlagName } from "../../crds/feature-flag/flags.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import type { Package } from "../../crds/package/package.ts";
import { Staging } from "../../crds/staging/staging.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReconcileResult } from "../../kube/controller/controller.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { hideUserinfo } from "../../crds/hide-userinfo.ts";
import { toOwnerReference } from "../shared/app-owned.ts";
import { orNoServices } from "../shared/running-env.ts";
import { tenancyLabels, type Tenancy } from "../shared/tenancy.ts";

type Lifecycle = NonNullable<Build["spec"]["lifecycle"]>;

/** The effective lifecycle: the build's, else the app's; a docker package is always docker. */
export function effectiveLifecycle(build: Build, app: App, pkg: Package): Lifecycle {
  const given = build.spec.lifecycle ?? app.spec.lifecycle;
  return pkg.spec.type === "docker" ? { ...given, type: "docker" } : given;
}

/** An error that ends a build. `code` is CF's. */
export interface BuildError {
  code: string;
  message: string;
}

const FLAG_BY_LIFECYCLE: Partial<Record<Lifecycle["type"], FlagName>> = { docker: "diego_docker", cnb: "diego_cnb" };

/** Finds an error that ends a build before it starts. Admission policies check the flags too, but cannot read the lifecycle of the app or package. */
export function findBuildError(
  pkg: Package,
  lifecycle: Lifecycle,
  isOn: (flag: FlagName) => boolean,
): BuildError | undefined {
  const flag = FLAG_BY_LIFECYCLE[lifecycle.type];
  if (flag && !isOn(flag)) return { code: "FeatureDisabled", message: `${FEATURE_DISABLED}${flag}` };
  if (pkg.status?.state === "Failed")
    return {
      code: "StagingError",
      message: `package ${pkg.metadata.name} failed: ${pkg.status.error ?? "no reason given"}`,
    };
  if (pkg.spec.type === "bits" && lifecycle.type === "docker")
    return { code: "StagingError", message: "the docker lifecycle needs a docker package" };
  return undefined;
}

/** The result of a failed Build. */
export function planFailure(error: BuildError): ReconcileResult {
  return {
    status: { state: "Failed", error },
    ready: { status: "False", reason: "StagingFailed", message: `${error.code}: ${error.message}`, isFailure: true },
  };
}

/** The status of a finished Build stays as it is. Deletes a successful build's Staging, keeps a failed one. */
export function planFinished(build: Build): ReconcileResult {
  if (build.status?.state === "Staged") return { children: [] };
  return build.status?.error ? planFailure(build.status.error) : {};
}

/** Buildpacks for a Staging by this builder: the named ones in order, or else all enabled and suitable ones by position, for detection. */
export function planBuildpacks(
  given: Lifecycle,
  all: readonly Buildpack[],
  builder?: BackendClass,
): { buildpacks: Staging["spec"]["buildpacks"]; detect: boolean } | BuildError {
  const known = all.filter(({ spec }) => spec.builder === undefined || spec.builder === builder?.metadata.name);
  const lifecycle = { ...given, buildpacks: given.buildpacks.map((name) => toInstalledName(name, known, builder)) };
  if (lifecycle.buildpacks.length === 0) {
    const fitting = known
      .filter(
        (buildpack) =>
          buildpack.spec.enabled &&
          !isAwaitingUpload(buildpack) &&
          buildpack.spec.lifecycle === lifecycle.type &&
          (!buildpack.spec.stack || !lifecycle.stack || buildpack.spec.stack === lifecycle.stack),
      )
      .toSorted((a, b) => a.spec.position - b.spec.position || (a.metadata.name < b.metadata.name ? -1 : 1));
    return { buildpacks: fitting.map(toBuildpackReference), detect: true };
  }
  const disabled = lifecycle.buildpacks.find(
    (name) => (findBuildpackFor(name, lifecycle, known) ?? findOfImage(name, known))?.spec.enabled === false,
  );
  if (disabled !== undefined)
    return {
      code: "StagingError",
      message: `the buildpack ${disabled} is disabled; cf update-buildpack ${disabled} --enable enables it`,
    };
  const found = lifecycle.buildpacks.map((name) => findNamedBuildpack(name, lifecycle, known, builder));
  const missing = lifecycle.buildpacks[found.indexOf(undefined)];
  if (missing !== undefined && found.includes(undefined))
    return {
      code: "StagingError",
      message: `there is no buildpack ${hideUserinfo(missing)}; cf buildpacks lists them`,
    };
  return { buildpacks: found.flatMap((buildpack) => buildpack ?? []), detect: false };
}

/** The name of what is installed here in place of one of Cloud Foundry's own buildpacks by its address; any other name as it is. */
function toInstalledName(name: string, known: readonly Buildpack[], builder: BackendClass | undefined): string {
  const classic = classicBuildpackName(name);
  if (classic === undefined) return name;
  const isInstalled = known.some(({ spec }) => spec.name === classic);
  return isInstalled || mayHaveBuildpack(builder?.status?.capabilities, classic) ? classic : name;
}

/** Prefers, of several with the name, the one for the app's stack, else the one for any stack. */
function findBuildpackFor(name: string, { stack }: Lifecycle, known: readonly Buildpack[]): Buildpack | undefined {
  const named = known.filter(({ spec }) => spec.name === name);
  return (
    named.find(({ spec }) => stack !== undefined && spec.stack === stack) ??
    named.find(({ spec }) => spec.stack === undefined) ??
    named[0]
  );
}

/** The Buildpack of the builder's image that the name means as the builder reads names: without its namespace, or with a version. */
function findOfImage(name: string, known: readonly Buildpack[]): Buildpack | undefined {
  const ofImage = known.filter(({ spec }) => spec.builder !== undefined);
  const { ids } = resolveBuildpackName(
    name,
    ofImage.map(({ spec }) => spec.path ?? ""),
  );
  return ids.length === 1 ? ofImage.find(({ spec }) => spec.path === ids[0]) : undefined;
}

/** Accepts the name of a Buildpack, or of one that the builder's image has, or an address that the builder resolves (a URL, an image, a folder). */
function findNamedBuildpack(
  name: string,
  lifecycle: Lifecycle,
  known: readonly Buildpack[],
  builder: BackendClass | undefined,
): Staging["spec"]["buildpacks"][number] | undefined {
  const buildpack = findBuildpackFor(name, lifecycle, known);
  if (buildpack) return toBuildpackReference(buildpack);
  if (mayHaveBuildpack(builder?.status?.capabilities, name)) return { name };
  return /^[a-z+]+:\/\/|^\/|^docker:|[/@]/.test(name) ? { name } : undefined;
}

function toBuildpackReference(buildpack: Buildpack): Staging["spec"]["buildpacks"][number] {
  const { name, path, content } = buildpack.spec;
  return { name, ...(content ? { content } : path && { path }) };
}

export interface StagingInput {
  build: Build;
  buildGUID: string;
  app: App;
  appGUID: string;
  pkg: Package;
  lifecycle: Lifecycle;
  buildpacks: Staging["spec"]["buildpacks"];
  detect: boolean;
  tenancy: Tenancy;
  class: string;
  /** Variables of all builds; the app's own win. */
  groupEnv: readonly EnvVar[];
  /** The BackendClass's buildCache. */
  platformCache?: string | undefined;
  /** The user's environment, secrets by reference. */
  env: readonly EnvVar[];
  /** The variables of bound services. */
  services: readonly EnvVar[];
  defaultStack: string | undefined;
  apiURL: string;
  uris: readonly string[];
}

export function planStaging(input: StagingInput): Draft {
  const { build, pkg, lifecycle, tenancy } = input;
  const { labels, annotations } = tenancyLabels(tenancy);
  const stack = lifecycle.stack ?? input.defaultStack;
  const app = { guid: input.appGUID, name: displayNameOf(input.app) };
  return {
    apiVersion: apiVersionOf(Staging),
    kind: Staging.kind,
    metadata: {
      name: build.metadata.name,
      namespace: build.metadata.namespace,
      labels: {
        ...labels,
        [LABELS.guid]: deriveGUID("staging", build.metadata.uid ?? ""),
        [LABELS.app]: app.guid,
        [LABELS.sourceType]: "STG",
      },
      annotations: { ...annotations, [ANNOTATIONS.appName]: app.name },
    },
    spec: {
      class: input.class,
      app,
      space: tenancy.space,
      org: tenancy.org,
      buildGUID: input.buildGUID,
      ...toCacheKey(input),
      lifecycleType: lifecycle.type,
      package: toStagingPackage(pkg),
      buildpacks: input.buildpacks,
      detect: input.detect,
      ...(stack && { stack }),
      env: stagingEnv(input, app, stack),
      memoryMB: build.spec.memoryMB,
      diskMB: build.spec.diskMB,
      timeoutSeconds: STAGING_TIMEOUT_SECONDS,
    },
  };
}

/** None until somebody clears the cache, so that an upgrade keeps the caches of before. */
function toCacheKey({ app, platformCache }: StagingInput): { cacheKey?: string } {
  const { buildCache } = app.spec;
  if (buildCache === undefined && platformCache === undefined) return {};
  const text = `${platformCache ?? ""}/${buildCache ?? ""}`;
  return { cacheKey: createHash("sha256").update(text).digest("hex").slice(0, 16) };
}

function toStagingPackage(pkg: Package): Record<string, unknown> {
  const { type, content, files, image, imagePullSecretRef } = pkg.spec;
  return {
    type,
    ...(content ? { content } : files && { files }),
    ...(image && { image }),
    ...(imagePullSecretRef && { imagePullSecretRef }),
  };
}

/** The environment by Cloud Foundry's precedence while staging: the staging group, the user's variables, CF_STACK, then the platform's. */
function stagingEnv(input: StagingInput, app: { guid: string; name: string }, stack: string | undefined): EnvVar[] {
  const { memoryMB, diskMB } = input.build.spec;
  const application = vcapApplication({
    apiURL: input.apiURL,
    app,
    space: input.tenancy.space,
    org: input.tenancy.org,
    uris: input.uris,
    limits: { memoryMB, diskMB },
    version: deriveGUID("staging", input.build.metadata.uid ?? ""),
  });
  const platform: EnvVar[] = [
    ...(stack ? [{ name: "CF_STACK", value: stack }] : []),
    { name: "LANG", value: "en_US.UTF-8" },
    { name: "VCAP_APPLICATION", value: JSON.stringify(application) },
    { name: "MEMORY_LIMIT", value: `${memoryMB}m` },
    ...orNoServices(input.services),
  ];
  const merged = new Map<string, EnvVar>();
  for (const variable of input.groupEnv) merged.set(variable.name, variable);
  for (const variable of input.env) if (!isPlatformVariable(variable.name)) merged.set(variable.name, variable);
  // The platform's own variables come last, as before.
  for (const variable of platform) merged.delete(variable.name);
  return [...merged.values(), ...platform];
}

type Artifact = NonNullable<NonNullable<Staging["status"]>["droplet"]>;

/** The Droplet of a build. It has the build's name and is owned by the app, so it outlives the Build. */
export function planDroplet(
  build: Build,
  app: App,
  appGUID: string,
  result: { lifecycleType: Lifecycle["type"]; artifact: Partial<Artifact> & Pick<Artifact, "kind"> },
): Draft {
  return {
    apiVersion: apiVersionOf(Droplet),
    kind: Droplet.kind,
    metadata: {
      name: build.metadata.name,
      namespace: build.metadata.namespace,
      labels: { [LABELS.guid]: deriveGUID("droplet", build.metadata.uid ?? ""), [LABELS.app]: appGUID },
      ownerReferences: [toOwnerReference(app)],
    },
    spec: {
      appRef: { name: app.metadata.name },
      buildRef: { name: build.metadata.name },
      packageRef: { name: build.spec.packageRef.name },
      lifecycleType: result.lifecycleType,
      ...result.artifact,
    },
  };
}

/** The droplet of an image: nothing is built, and the image defines its start command. */
export function toImageArtifact(pkg: Package): Partial<Artifact> & Pick<Artifact, "kind"> {
  const { image, imagePullSecretRef } = pkg.spec;
  return { kind: "docker", image, ...(imagePullSecretRef && { imagePullSecretRef }), processTypes: { web: "" } };
}

/** The Build's result from the Staging's state; `undefined` while it runs. */
export function toStagingOutcome(staging: Staging | undefined): { artifact: Artifact } | BuildError | undefined {
  const { state, droplet, error } = staging?.status ?? {};
  if (state === "Failed") return error ?? { code: "StagingError", message: "staging failed without saying why" };
  if (state !== "Succeeded") return undefined;
  if (!droplet) return { code: "StagingError", message: "staging succeeded without a droplet" };
  // A builder image calls its stack by a name that cf stacks does not have.
  const stack = staging?.spec.stack ?? droplet.stack;
  return { artifact: { ...droplet, ...(stack && { stack }) } };
}
