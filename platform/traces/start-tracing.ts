// The traces of a process, where its options ask for them.
import type { Tracing } from "../../kube/tracing/tracing.ts";
import type { PlatformOptions } from "../platform-options.ts";
import { cupolaVersion } from "../version.ts";

/** @throws Error that names a variable with a wrong value */
export async function startTracing(
  { traces, operations, log }: PlatformOptions,
  identity: string,
  disposables: AsyncDisposableStack,
): Promise<Tracing | undefined> {
  if (!traces) return undefined;
  // Its libraries are loaded by processes that need them.
  const { createTracing } = await import("../../kube/tracing/create-tracing.ts");
  const resource = {
    "service.name": "cupola",
    "service.version": cupolaVersion(),
    "service.instance.id": identity,
    "cupola.operations": operations.join(","),
  };
  return disposables.adopt(await createTracing({ env: traces, resource, log }), (tracing) => tracing.close());
}
