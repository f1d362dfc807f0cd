// Fields of a process that bodies and manifests share.
import { z } from "zod";

/** A text of 1 to `max` characters, refused in CF's words. */
function boundedText(max: number) {
  const problem = `must be between 1 and ${max} characters`;
  return z.string().min(1, problem).max(max, problem);
}

/** A start command. */
export const commandSchema = boundedText(4096);
/** The user that a process runs as. */
export const processUserSchema = boundedText(255);
