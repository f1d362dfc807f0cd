// CAPI version that the platform announces in its discovery and OpenAPI documents.

/** `cf` chooses its requests by it. README lists what is not served yet. */
export const API_VERSION = "3.228.0";
