// CF's lifecycle of an app or build: schemas, conversion to the spec, and presentation.
import { z } from "zod";
import type { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { classicBuildpackName } from "../../../crds/buildpack/classic-address.ts";
import { mayHaveBuildpack } from "../../../crds/buildpack/builder-buildpacks.ts";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { Stack } from "../../../crds/stack/stack.ts";
import { hideUserinfo } from "../../../crds/hide-userinfo.ts";
import { adviseMissingBuildpack } from "./missing-buildpack.ts";
import { judgeStack, type StackUse } from "../stack/stack-state.ts";
import { type CFError, unprocessable } from "../../http/errors.ts";
import type { ClusterCache } from "../../cache/cluster-cache.ts";

const STACK_LENGTH = "must be between 1 and 4096 characters";
const BUILDPACK_LENGTH = "entries must be between 1 and 4096 characters";

/** `lifecycle.data.buildpacks`, or a manifest's. */
export const buildpacksSchema = z
  .array(z.string("can only contain strings").min(1, BUILDPACK_LENGTH).max(4096, BUILDPACK_LENGTH))
  .max(50);
/** `lifecycle.data.stack`, or a manifest's. */
export const stackSchema = z.string().min(1, STACK_LENGTH).max(4096, STACK_LENGTH);

const buildpackData = z.strictObject(
  {
    buildpacks: buildpacksSchema.nullable().optional(),
    stack: stackSchema.nullable().optional(),
    credentials: z.record(z.string(), z.unknown()).nullable().optional(),
  },
  { error: ({ code }) => (code === "invalid_type" ? "must be an object" : undefined) },
);

const buildpack = z.strictObject({ type: z.literal("buildpack"), data: buildpackData });
const cnb = z.strictObject({ type: z.literal("cnb"), data: buildpackData });
const docker = z.strictObject({ type: z.literal("docker"), data: z.strictObject({}).optional() });
const wording = {
  error: ({ code, input }: { code?: string; input?: unknown }) =>
    code === "invalid_union" ? typeProblem((input as { type?: unknown }).type) : "data must be an object",
};
const NOT_LISTED = "is not included in the list: buildpack, docker, cnb";

function typeProblem(type: unknown): string {
  if (typeof type === "string") return NOT_LISTED;
  const noText = "must be a string";
  return type === undefined || type === null ? noText : `${NOT_LISTED}, Lifecycle type ${noText}`;
}

/** `lifecycle` of a build's body. */
export const lifecycleSchema = z.discriminatedUnion("type", [buildpack, cnb, docker], wording);

/** `lifecycle` of a new app: without a type it is the platform's default. */
export const newAppLifecycleSchema = z.discriminatedUnion(
  "type",
  [
    z.strictObject({
      type: z
        .literal("buildpack")
        .nullish()
        .transform(() => "buildpack" as const),
      data: buildpackData,
    }),
    cnb,
    docker,
  ],
  wording,
);

/** `lifecycle` of a change of an app: without a type it is the app's own. */
export const changedLifecycleSchema = z.discriminatedUnion(
  "type",
  [buildpack, cnb, docker, z.strictObject({ type: z.null().optional(), data: buildpackData })],
  wording,
);
export type ChangedLifecycle = z.output<typeof changedLifecycleSchema>;
export type LifecycleInput = z.output<typeof lifecycleSchema>;

/** The lifecycle for an App's spec. @throws CFError 422 for an unknown stack or buildpack */
export function toLifecycle(
  cache: ClusterCache,
  input: LifecycleInput | undefined,
): Partial<App["spec"]["lifecycle"]> & { type: App["spec"]["lifecycle"]["type"] } {
  if (!input) return { type: "buildpack" };
  if (input.type === "docker") return { type: "docker" };
  const { buildpacks, stack } = input.data;
  checkStack(cache, stack);
  const unknown = findUnknownBuildpack(cache, buildpacks);
  if (unknown !== undefined)
    throw unprocessable(
      `Buildpack "${hideUserinfo(unknown)}" for stack "${stack ?? defaultStack(cache) ?? ""}" must be an existing admin buildpack or a valid git URI${adviseMissingBuildpack(cache, unknown)}`,
    );
  return { type: input.type, ...(buildpacks && { buildpacks }), ...(stack && { stack }) };
}

/** CF's refusal of a change of the lifecycle's type. */
export function typeChangeRefusal(from: string, to: string): string {
  return `Lifecycle type cannot be changed from ${from} to ${to}`;
}

/** The stack with this name. */
export function findStack(cache: ClusterCache, name: string | null | undefined): Stack | undefined {
  return cache
    .store(Stack)
    .list()
    .find((stack) => stack.spec.name === name);
}

/** Judges the stack that an app is built on by its state. @throws CFError 422 with `refusal` when nothing may be built on it */
export function checkStackState(
  cache: ClusterCache,
  { name, use, warn }: { name: string | null | undefined; use: StackUse; warn: (text: string) => void },
  refusal: (text: string) => CFError = unprocessable,
): void {
  const stack = findStack(cache, name);
  const { error, warning } = stack ? judgeStack(stack, use) : {};
  if (error) throw refusal(error);
  if (warning) warn(warning);
}

/** Judges the stack of a new app, which is the default one unless its lifecycle names another. @throws CFError 422 when nothing new may be built on it */
export function checkNewAppsStack(
  cache: ClusterCache,
  lifecycle: LifecycleInput | undefined,
  warn: (text: string) => void = () => {},
): void {
  if (lifecycle?.type === "docker") return;
  checkStackState(cache, { name: lifecycle?.data.stack ?? defaultStack(cache), use: "new", warn });
}

function checkStack(cache: ClusterCache, name: string | null | undefined): void {
  if (name && !findStack(cache, name)) throw unprocessable("Stack must be an existing stack");
}

/** A git repository, or an image in a registry: the builder judges it. */
const ADDRESS = /^(https?|git|ssh|docker):\/\//;

/** The first name that is neither an installed buildpack, nor one of a builder class, nor a URL. */
export function findUnknownBuildpack(
  cache: ClusterCache,
  names: readonly string[] | null | undefined,
): string | undefined {
  const known = new Set(
    cache
      .store(Buildpack)
      .list()
      .map((buildpack) => buildpack.spec.name),
  );
  const builders = cache
    .store(BackendClass)
    .list()
    .filter(({ spec }) => spec.role === "builder");
  // A folder of the builder's machine, which an app's own code can read there, too.
  const takesFolders = builders.some(({ status }) => status?.capabilities?.["isolation"] === "none");
  const isOfBuilder = (name: string): boolean =>
    (takesFolders && name.startsWith("/")) ||
    builders.some(({ status }) => mayHaveBuildpack(status?.capabilities, name));
  return names?.find((name) => !known.has(name) && !ADDRESS.test(name) && !isOfBuilder(name));
}

/** The name of what is installed here for one of Cloud Foundry's own buildpacks by its address. */
export function installedInPlaceOf(cache: ClusterCache, address: string): string | undefined {
  const name = classicBuildpackName(address);
  return name !== undefined && findUnknownBuildpack(cache, [name]) === undefined ? name : undefined;
}

/** The installed buildpacks among the names that are disabled, each once. */
export function findDisabledBuildpacks(cache: ClusterCache, names: readonly string[]): string[] {
  const known = cache.store(Buildpack).list();
  const isDisabled = (name: string): boolean => {
    const named = known.filter(({ spec }) => spec.name === name);
    return named.length > 0 && named.every(({ spec }) => !spec.enabled);
  };
  return [...new Set(names)].filter(isDisabled);
}

/** Name of the default stack. */
export function defaultStack(cache: ClusterCache): string | null {
  const version = cache.versionOf([Stack]);
  const known = defaults.get(cache);
  if (known?.version === version) return known.name;
  const stacks = cache.store(Stack).list();
  const name = (stacks.find((stack) => stack.spec.default) ?? stacks[0])?.spec.name ?? null;
  defaults.set(cache, { version, name });
  return name;
}
const defaults = new WeakMap<ClusterCache, { version: number; name: string | null }>();

/** The stack that an app is built on, as CF shows it; "" for an image. */
export function stackOf(cache: ClusterCache, app: App): string {
  const { type, stack } = app.spec.lifecycle;
  return type === "docker" ? "" : (stack ?? defaultStack(cache) ?? "");
}

/** `lifecycle` as CF shows it. */
export function presentLifecycle(
  cache: ClusterCache,
  lifecycle: { type: string; buildpacks?: string[]; stack?: string },
): object {
  if (lifecycle.type === "docker") return { type: "docker", data: {} };
  return {
    type: lifecycle.type,
    data: { buildpacks: (lifecycle.buildpacks ?? []).map(hideUserinfo), stack: lifecycle.stack ?? defaultStack(cache) },
  };
}
