// Changes and deletions of objects that may be gone.
import { isConflict, isNotFound } from "./errors.ts";

/** For a change or deletion of an object that may not exist. */
export async function ignoreNotFound(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** For the deletion of exactly one object, by preconditions: it may be gone, or another object may have its name by now. */
export async function ignoreGone(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
