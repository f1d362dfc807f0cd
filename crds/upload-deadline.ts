// How long an upload may take: for clients and servers.
export const UPLOAD_DEADLINE_MS = 15 * 60_000;
