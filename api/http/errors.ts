// The catalog of CF API errors (docs/errors.md is generated from it), and the error that handlers throw. error-translation.ts translates other errors.

interface CatalogueEntry {
  /** Number that CF clients know. */
  code: number;
  /** Title as sent. */
  title: string;
  /** HTTP status. */
  status: number;
  /** Text as sent; the thrower's text replaces `%s`. */
  detail: string;
}

/** Every error this API answers with. Callers match on the key, never on text. */
export const errorCatalogue = {
  InvalidAuthToken: { code: 1000, title: "CF-InvalidAuthToken", status: 401, detail: "Invalid Auth Token" },
  MessageParseError: {
    code: 1001,
    title: "CF-MessageParseError",
    status: 400,
    detail: "Request invalid due to parse error: %s",
  },
  BadRequest: { code: 1004, title: "CF-BadRequest", status: 400, detail: "Bad request: %s" },
  NotFound: { code: 10000, title: "CF-NotFound", status: 404, detail: "Unknown request" },
  UnknownError: { code: 10001, title: "UnknownError", status: 500, detail: "An unknown error occurred." },
  NotAuthenticated: { code: 10002, title: "CF-NotAuthenticated", status: 401, detail: "Authentication error" },
  NotAuthorized: {
    code: 10003,
    title: "CF-NotAuthorized",
    status: 403,
    detail: "You are not authorized to perform the requested action",
  },
  BadQueryParameter: {
    code: 10005,
    title: "CF-BadQueryParameter",
    status: 400,
    detail: "The query parameter is invalid: %s",
  },
  InvalidRelation: { code: 1002, title: "CF-InvalidRelation", status: 400, detail: "%s" },
  UnableToPerform: { code: 10009, title: "CF-UnableToPerform", status: 400, detail: "%s" },
  AsyncServiceInstanceOperationInProgress: {
    code: 60016,
    title: "CF-AsyncServiceInstanceOperationInProgress",
    status: 409,
    detail: "An operation for service instance %s is in progress.",
  },
  ServiceInstanceWithInaccessiblePlanNotUpdateable: {
    code: 60029,
    title: "CF-ServiceInstanceWithInaccessiblePlanNotUpdateable",
    status: 403,
    detail: "Cannot update %s of a service instance that belongs to inaccessible plan",
  },
  ServicePlanNotUpdateable: {
    code: 110004,
    title: "CF-ServicePlanNotUpdateable",
    status: 400,
    detail: "The service does not support changing plans.",
  },
  ServiceInstanceUnshareFailed: {
    code: 390001,
    title: "CF-ServiceInstanceUnshareFailed",
    status: 502,
    detail: "Unshare of service instance failed because one or more bindings could not be deleted.\n\n%s",
  },
  SharedServiceInstanceCannotBeRenamed: {
    code: 390003,
    title: "CF-SharedServiceInstanceCannotBeRenamed",
    status: 422,
    detail: "Service instances that have been shared cannot be renamed",
  },
  MaintenanceInfoNotSupported: {
    code: 390006,
    title: "CF-MaintenanceInfoNotSupported",
    status: 422,
    detail: "The service broker does not support upgrades for service instances created from this plan.",
  },
  MaintenanceInfoNotUpdatableWhenChangingPlan: {
    code: 390008,
    title: "CF-MaintenanceInfoNotUpdatableWhenChangingPlan",
    status: 422,
    detail: "maintenance_info should not be changed when switching to different plan.",
  },
  MaintenanceInfoConflict: {
    code: 390009,
    title: "CF-MaintenanceInfoConflict",
    status: 422,
    detail:
      "maintenance_info.version requested is invalid. Please ensure the catalog is up to date and you are providing a version supported by this service plan.",
  },
  UnprocessableEntity: { code: 10008, title: "CF-UnprocessableEntity", status: 422, detail: "%s" },
  ResourceNotFound: { code: 10010, title: "CF-ResourceNotFound", status: 404, detail: "%s not found" },
  RateLimitExceeded: { code: 10013, title: "CF-RateLimitExceeded", status: 429, detail: "Rate Limit Exceeded" },
  ServiceUnavailable: { code: 10015, title: "CF-ServiceUnavailable", status: 503, detail: "%s" },
  UniquenessError: { code: 10016, title: "CF-UniquenessError", status: 422, detail: "%s" },
  OrgSuspended: { code: 10017, title: "CF-OrgSuspended", status: 403, detail: "The organization is suspended" },
  SpaceSuspended: { code: 10019, title: "CF-SpaceSuspended", status: 403, detail: "The space is suspended" },
  ResourceBeingDeleted: { code: 10020, title: "CF-ResourceBeingDeleted", status: 422, detail: "%s is being deleted" },
  BuildpackInvalid: { code: 290003, title: "CF-BuildpackInvalid", status: 400, detail: "Buildpack is invalid: %s" },
  StackValidationFailed: { code: 250004, title: "CF-StackValidationFailed", status: 422, detail: "%s" },
  PackageBitsAlreadyUploaded: {
    code: 150004,
    title: "CF-PackageBitsAlreadyUploaded",
    status: 400,
    detail: "Bits may be uploaded only once. Create a new package to upload different bits.",
  },
  BlobstoreUnavailable: {
    code: 150006,
    title: "CF-BlobstoreUnavailable",
    status: 502,
    detail: "Failed to perform operation due to blobstore unavailability.",
  },
  ProcessNotFound: {
    code: 350003,
    title: "CF-ProcessNotFound",
    status: 404,
    detail: "The process could not be found: %s",
  },
  StagingInProgress: {
    code: 170017,
    title: "CF-StagingInProgress",
    status: 422,
    detail: "Only one build can be STAGING at a time per application.",
  },
  PayloadTooLarge: {
    code: 1004,
    title: "CF-BadRequest",
    status: 413,
    detail: "Bad request: the body is larger than %s",
  },
  ServiceBrokerNotRemovable: {
    code: 270010,
    title: "CF-ServiceBrokerNotRemovable",
    status: 422,
    detail: "Can not remove brokers that have associated service instances: %s",
  },
  ServiceFetchInstanceParametersNotSupported: {
    code: 120004,
    title: "CF-ServiceFetchInstanceParametersNotSupported",
    status: 400,
    detail: "This service does not support fetching service instance parameters.",
  },
  ServiceInstanceAlreadyBoundToSameRoute: {
    code: 130008,
    title: "CF-ServiceInstanceAlreadyBoundToSameRoute",
    status: 422,
    detail: "The route and service instance are already bound.",
  },
  ServiceFetchBindingParametersNotSupported: {
    code: 90007,
    title: "CF-ServiceFetchBindingParametersNotSupported",
    status: 400,
    detail: "This service does not support fetching service binding parameters.",
  },
  FeatureDisabled: { code: 330002, title: "CF-FeatureDisabled", status: 403, detail: "Feature Disabled: %s" },
  LabelLimitExceeded: {
    code: 390020,
    title: "CF-LabelLimitExceeded",
    status: 422,
    detail: "Failed to add %s labels because it would exceed maximum of 50",
  },
  AnnotationLimitExceeded: {
    code: 390023,
    title: "CF-AnnotationLimitExceeded",
    status: 422,
    detail: "Failed to add %s annotations because it would exceed maximum of 200",
  },
} as const satisfies Record<string, CatalogueEntry>;

/** Key of the catalogue. */
export type ErrorKey = keyof typeof errorCatalogue;

/** An entry of the `errors` array of a reply. */
export interface PresentedError {
  code: number;
  title: string;
  detail: string;
}

/** A handler throws it to answer with an error of the catalogue. `text` replaces the entry's `%s` and is sent to the client: never a secret. */
export class CFError extends Error {
  readonly key: ErrorKey;
  readonly status: number;
  /** At least one error, as sent. */
  readonly errors: readonly PresentedError[];

  constructor(key: ErrorKey, text: string | readonly string[] = "", options?: ErrorOptions) {
    const entry = errorCatalogue[key];
    const details = (typeof text === "string" ? [text] : text).map((one) => entry.detail.replace("%s", () => one));
    super(details.join("; "), options);
    this.name = "CFError";
    this.key = key;
    this.status = entry.status;
    this.errors = details.map((detail) => ({ code: entry.code, title: entry.title, detail }));
  }
}

/** 404 `<Resource> not found`, e.g. `App`. The same whether it does not exist or the caller may not see it. */
export function notFound(resource: string): CFError {
  return new CFError("ResourceNotFound", resource);
}

/** 422 with exactly this detail. */
export function unprocessable(detail: string, options?: ErrorOptions): CFError {
  return new CFError("UnprocessableEntity", detail, options);
}

/** 403: the caller can see the object but not change it. */
export function notAuthorized(options?: ErrorOptions): CFError {
  return new CFError("NotAuthorized", "", options);
}

/** 503 with a text that names the missing part. */
export function unavailable(what: string, options?: ErrorOptions): CFError {
  return new CFError("ServiceUnavailable", what, options);
}

/** The text of docs/errors.md. */
export function errorsDocument(): string {
  const rows = Object.entries(errorCatalogue).map(
    ([key, e]) => `| ${e.code} | ${e.title} | ${e.status} | ${e.detail.replaceAll("|", "\\|")} | \`${key}\` |`,
  );
  return [
    "# Errors of the CF API",
    "",
    "Printed from the catalogue in `api/http/errors.ts` (`npm run gen`); a test keeps the two equal. An answer is",
    '`{"errors": [{"code", "title", "detail"}]}`; `%s` is filled per case. Match on `code` and `title`, not on text.',
    "",
    "| code | title | status | detail | key in the source |",
    "|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}
