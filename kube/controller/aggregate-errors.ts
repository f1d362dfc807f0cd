// Collects the errors of parallel work, so that one failure does not stop the rest.

/** Waits for all promises. Returns their errors in order; nested AggregateErrors are flattened. */
export async function collectErrors(promises: readonly Promise<unknown>[]): Promise<unknown[]> {
  const results = await Promise.allSettled(promises);
  return results.flatMap((result) => (result.status === "rejected" ? flattenErrors(result.reason) : []));
}

/** @throws a single error as it is, several as one AggregateError */
export function throwErrors(errors: readonly unknown[]): void {
  if (errors.length > 1)
    throw new AggregateError(errors, `${errors.length} errors: ${[...new Set(errors.map(textOf))].join("; ")}`);
  if (errors.length === 1) throw errors[0];
}

/** The errors of an AggregateError, recursively; otherwise the error itself. */
export function flattenErrors(error: unknown): unknown[] {
  return error instanceof AggregateError ? (error.errors as unknown[]).flatMap(flattenErrors) : [error];
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
