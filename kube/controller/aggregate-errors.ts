// Work of which each part is tried whatever becomes of the others, and what is said of those that failed.

/** Waits for all of it. What failed, in order; nested AggregateErrors are laid open. */
export async function collectErrors(promises: readonly Promise<unknown>[]): Promise<unknown[]> {
  const results = await Promise.allSettled(promises);
  return results.flatMap((result) => (result.status === "rejected" ? flattenErrors(result.reason) : []));
}

/** @throws the only failure as it is, several in an AggregateError */
export function throwErrors(errors: readonly unknown[]): void {
  if (errors.length > 1)
    throw new AggregateError(
      errors,
      `${errors.length} parts of the work failed: ${[...new Set(errors.map(textOf))].join("; ")}`,
    );
  if (errors.length === 1) throw errors[0];
}

/** The failures that an error stands for: usually itself. */
export function flattenErrors(error: unknown): unknown[] {
  return error instanceof AggregateError ? (error.errors as unknown[]).flatMap(flattenErrors) : [error];
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
