// Process fields that request bodies and manifests share.
import { z } from "zod";

/** Seconds that a person may give a start. */
export const MAX_START_SECONDS = 180;

/** Text of 1 to `max` characters, with CF's error texts. */
function boundedText(max: number) {
  const problem = `must be between 1 and ${max} characters`;
  return z.string().min(1, problem).max(max, problem);
}

/** A start command. */
export const commandSchema = boundedText(4096);
/** The user that a process runs as. */
export const processUserSchema = boundedText(255);
