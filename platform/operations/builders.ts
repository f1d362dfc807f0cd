// The builders whose builds are Pods: controllers that need the registry, and nothing to start or stop.
import { cnbBuilder } from "../../backends/builders/cnb/cnb.ts";
import { kpackBuilder } from "../../backends/builders/kpack/kpack.ts";
import { createImageInspector, type BuildRegistry } from "../../backends/builders/registry-images.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { Controller } from "../../kube/controller/controller.ts";
import type { PlatformRegistry } from "../open-blobs.ts";
import type { Operation } from "./operations.ts";

export interface BuilderDeps {
  blobs: BlobStore;
  /** Undefined when the process has no registry. */
  registry: BuildRegistry | undefined;
}

/** The process's registry as builders need it. */
export function toBuildRegistry({ client, prefix, insecureHosts, readDockerConfig }: PlatformRegistry): BuildRegistry {
  return {
    prefix: prefix.path === "" ? prefix.host : `${prefix.host}/${prefix.path}`,
    insecureHosts,
    readDockerConfig,
    inspect: createImageInspector(client),
  };
}

const BUILDER_CONTROLLERS: Partial<Record<Operation, (deps: BuilderDeps) => Controller[]>> = {
  "cnb-builder": cnbBuilder,
  "kpack-builder": kpackBuilder,
};

/** The controllers of these builders. Without `deps` they serve for their declarations only, and must not run. */
export function listBuilderControllers(
  operations: readonly Operation[],
  deps: BuilderDeps = { blobs: {} as BlobStore, registry: undefined },
): Controller[] {
  return operations.flatMap((operation) => BUILDER_CONTROLLERS[operation]?.(deps) ?? []);
}
