// Limits of a Staging: for its schema, its writers and its clients.
/** Seconds that a build may take: CF's default. */
export const STAGING_TIMEOUT_SECONDS = 900;
/** Length of the message of a failure. */
export const MAX_ERROR_MESSAGE = 4096;
