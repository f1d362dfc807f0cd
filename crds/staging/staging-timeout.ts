// Seconds that a build may take: CF's default.
export const STAGING_TIMEOUT_SECONDS = 900;
