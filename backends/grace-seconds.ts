// How long an instance has from SIGTERM to SIGKILL: Diego's time.
export const GRACE_SECONDS = 10;
