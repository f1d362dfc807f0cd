// Deletions of what may be gone.
import { isConflict, isNotFound } from "./errors.ts";

/** For the deletion of exactly one object, by preconditions: it may be gone, or another object may have its name by now. */
export async function ignoreGone(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
