// Work of which each part is tried whatever becomes of the others, and what is said of those that failed.

/** Waits for all of it. What failed, in order; nested AggregateErrors are laid open. */
export async function failuresOf(work: readonly Promise<unknown>[]): Promise<unknown[]> {
  const results = await Promise.allSettled(work);
  return results.flatMap((result) => (result.status === "rejected" ? partsOf(result.reason) : []));
}

/** @throws the only failure as it is, several in an AggregateError */
export function throwAll(failures: readonly unknown[]): void {
  if (failures.length > 1) throw new AggregateError(failures, `${failures.length} parts of the work failed: ${[...new Set(failures.map(textOf))].join("; ")}`);
  if (failures.length === 1) throw failures[0];
}

/** The failures that an error stands for: usually itself. */
export function partsOf(error: unknown): unknown[] {
  return error instanceof AggregateError ? (error.errors as unknown[]).flatMap(partsOf) : [error];
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
