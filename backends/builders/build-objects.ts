// Creates the objects of a build, so that repeating it does no harm.
import type { Draft, KubeClient } from "../../kube/client/client.ts";
import { isAlreadyExists, KubeError } from "../../kube/client/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { StagingFailure } from "./staging-failure.ts";

/** @throws StagingFailure when the cluster refuses it and no retry helps */
export async function createOnce(client: KubeClient, ref: ResourceRef, draft: Draft): Promise<void> {
  try {
    await client.create(ref, draft);
  } catch (error) {
    if (isAlreadyExists(error)) return;
    throw toFailure(error, draft);
  }
}

/** Quotas, Pod Security and limit ranges refuse what no retry changes. Rights come later in a new space. */
function toFailure(error: unknown, { kind }: Draft): unknown {
  if (!(error instanceof KubeError) || (error.code !== 403 && error.code !== 422)) return error;
  if (/cannot create resource|being terminated/.test(error.message)) return error;
  const isQuota = /exceeded quota/.test(error.message);
  return new StagingFailure(
    isQuota ? "InsufficientResources" : "StagingError",
    `the cluster refuses the build's ${kind}: ${error.message}`,
    { cause: error },
  );
}
