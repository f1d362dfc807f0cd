// CF's lifecycle of an app or a build: what comes in, what goes out.
import { z } from "zod";
import type { App } from "../../crds/app/app.ts";
import { Buildpack } from "../../crds/buildpack/buildpack.ts";
import { Stack } from "../../crds/stack/stack.ts";
import { hideUserinfo } from "../../crds/hide-userinfo.ts";
import { unprocessable } from "../http/errors.ts";
import type { ClusterCache } from "../cache/cluster-cache.ts";

const buildpackData = z.strictObject({
  buildpacks: z.array(z.string().min(1).max(4096)).max(50).nullable().optional(),
  stack: z.string().min(1).max(4096).nullable().optional(),
  credentials: z.record(z.string(), z.unknown()).nullable().optional(),
});

/** `lifecycle` of a body. */
export const lifecycleSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("buildpack"), data: buildpackData }),
  z.strictObject({ type: z.literal("cnb"), data: buildpackData }),
  z.strictObject({ type: z.literal("docker"), data: z.strictObject({}).optional() }),
]);
export type LifecycleInput = z.output<typeof lifecycleSchema>;

/** As the App keeps it. @throws CFError 422 for a stack or buildpack that is not there */
export function toLifecycle(
  cache: ClusterCache,
  input: LifecycleInput | undefined,
): Partial<App["spec"]["lifecycle"]> & { type: App["spec"]["lifecycle"]["type"] } {
  if (!input) return { type: "buildpack" };
  if (input.type === "docker") return { type: "docker" };
  const { buildpacks, stack } = input.data;
  checkStack(cache, stack);
  for (const name of buildpacks ?? []) checkBuildpack(cache, name);
  return { type: input.type, ...(buildpacks && { buildpacks }), ...(stack && { stack }) };
}

function checkStack(cache: ClusterCache, name: string | null | undefined): void {
  if (
    name &&
    !cache
      .store(Stack)
      .list()
      .some((stack) => stack.spec.name === name)
  )
    throw unprocessable("Stack must be an existing stack");
}

/** A buildpack of the platform by name, or a URL. `cf` knows the text word by word. */
function checkBuildpack(cache: ClusterCache, name: string): void {
  const known = cache
    .store(Buildpack)
    .list()
    .some((buildpack) => buildpack.spec.name === name);
  if (!known && !/^(https?|git):\/\//.test(name))
    throw unprocessable("Buildpack must be an existing admin buildpack or a valid git URI");
}

/** Name of the stack that apps get which name none. */
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

/** The stack an app is built on, as CF shows it; "" for an image. */
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
