// Translates anything thrown into one CF error. Kubernetes errors are translated only here.
import type { Logger } from "pino";
import { BlobNotFound, BlobStoreUnavailable } from "../../blobs/blob-store.ts";
import { ScratchFull } from "../../blobs/scratch/scratch-space.ts";
import { FEATURE_DISABLED } from "../../crds/feature-flag/flags.ts";
import { toPolicySentence } from "../../crds/policy-template/policy-objects.ts";
import { ORG_IS_SUSPENDED, SPACE_IS_SUSPENDED } from "../../crds/suspension-policies.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { isDiskFull } from "../../kube/server/disk-full.ts";
import { NotPermitted, NotSynced, NotWatched } from "../../kube/cache/errors.ts";
import { CFError, notAuthorized, unavailable, unprocessable } from "./errors.ts";

/** Text of a rejection by the schema, a CEL rule or an admission policy, without Kubernetes' prefix. */
export function rejectionMessage(error: KubeError): string {
  const causes = (error.details?.causes ?? []).map((cause) =>
    [cause.field, withoutPrefix(cause.message ?? "")].filter(Boolean).join(": "),
  );
  return causes.length > 0 ? causes.join(", ") : withoutPrefix(error.message);
}

function withoutPrefix(message: string): string {
  const [, policy, text] =
    /ValidatingAdmissionPolicy '([^']*)' with binding '[^']*' denied request: (.*)$/s.exec(message) ?? [];
  if (policy !== undefined && text !== undefined) return toPolicySentence(policy, text);
  return message.replace(/^.*? denied request: /s, "").replace(/^.*? is invalid: /s, "");
}

/** The sentence of an admission policy that warns; undefined for other warnings of Kubernetes, which say nothing to users of CF. */
export function admissionWarning(text: string): string | undefined {
  const [, policy, sentence] =
    /^Validation failed for ValidatingAdmissionPolicy '([^']*)' with binding '[^']*': (.+)$/s.exec(text) ?? [];
  return policy === undefined || sentence === undefined ? undefined : toPolicySentence(policy, sentence);
}

/** Whether an admission policy, not RBAC, denied the write; retrying does not help then. */
export function isAdmissionDenial(error: KubeError): boolean {
  return / denied request: /.test(error.message);
}

function translateForbidden(error: KubeError): CFError {
  const rejection = isAdmissionDenial(error) ? rejectionMessage(error) : "";
  if (rejection.includes(ORG_IS_SUSPENDED)) return new CFError("OrgSuspended", "", { cause: error });
  if (rejection.includes(SPACE_IS_SUSPENDED)) return new CFError("SpaceSuspended", "", { cause: error });
  const [, disabled] = rejection.split(FEATURE_DISABLED);
  return disabled === undefined
    ? notAuthorized({ cause: error })
    : new CFError("FeatureDisabled", disabled, { cause: error });
}

/** Only the laptop's API server answers with it. */
const INSUFFICIENT_STORAGE = 507;

function diskFull(cause: unknown): CFError {
  return unavailable("The disk of CUPOLA_HOME is full: nothing was stored. Free some space, then try again.", {
    cause,
  });
}

function scratchFull(cause: ScratchFull): CFError {
  const text = `The upload cannot be taken: ${cause.message}.`;
  return cause.never ? unprocessable(text, { cause }) : unavailable(text, { cause });
}

/** Uploads take longer than what else a client waits for. */
const SCRATCH_RETRY_SECONDS = 30;

/** When a client may ask again, of an error with status 503. */
export function retryAfterSeconds({ cause }: CFError): number {
  return cause instanceof ScratchFull ? SCRATCH_RETRY_SECONDS : 1;
}

const conflict = "The resource was changed by somebody else at the same time. Try again.";
const translations: Record<number, (error: KubeError) => CFError> = {
  0: (cause) => unavailable("The Kubernetes API cannot be reached. Try again.", { cause }),
  400: (cause) => unprocessable(rejectionMessage(cause), { cause }),
  401: (cause) => new CFError("InvalidAuthToken", "", { cause }),
  403: translateForbidden,
  404: (cause) => new CFError("ResourceNotFound", "Resource", { cause }),
  409: (cause) =>
    unprocessable(cause.reason === "AlreadyExists" ? "The resource already exists." : conflict, { cause }),
  413: (cause) => new CFError("PayloadTooLarge", "the Kubernetes API takes", { cause }),
  422: (cause) => unprocessable(rejectionMessage(cause), { cause }),
  429: (cause) => new CFError("RateLimitExceeded", "", { cause }),
  [INSUFFICIENT_STORAGE]: diskFull,
};

function translateKubeError(error: KubeError): CFError {
  const translate = translations[error.code];
  if (translate) return translate(error);
  if (error.code === 410 || error.code >= 500)
    return unavailable("The Kubernetes API is not available. Try again.", { cause: error });
  return new CFError("UnknownError", "", { cause: error });
}

/** Converts anything thrown to a CF error. Details of unknown errors are never sent. */
export function toCFError(thrown: unknown): CFError {
  if (thrown instanceof CFError) return thrown;
  if (thrown instanceof KubeError) return translateKubeError(thrown);
  if (thrown instanceof NotSynced || thrown instanceof NotPermitted || thrown instanceof NotWatched) {
    return unavailable("This API does not see all of its data yet. Try again.", { cause: thrown });
  }
  if (thrown instanceof URIError)
    return new CFError("BadRequest", "the path has an invalid % escape", { cause: thrown });
  return toStorageError(thrown) ?? new CFError("UnknownError", "", { cause: thrown });
}

/** The log has the store's own words, which are for operators. */
function storeUnavailable(cause: BlobStoreUnavailable): CFError {
  const what =
    cause.status === 0
      ? "does not answer. Try again."
      : `answers with an error (status ${cause.status}). Try again; if it stays so, the platform's operator must repair it.`;
  return unavailable(`The store of packages and droplets ${what}`, { cause });
}

/** Undefined for what has nothing to do with disks and stores. */
function toStorageError(thrown: unknown): CFError | undefined {
  if (isDiskFull(thrown)) return diskFull(thrown);
  if (thrown instanceof ScratchFull) return scratchFull(thrown);
  if (thrown instanceof BlobStoreUnavailable) return storeUnavailable(thrown);
  return thrown instanceof BlobNotFound ? new CFError("BlobstoreUnavailable", "", { cause: thrown }) : undefined;
}

/** Logs errors of the platform and its dependencies; clients' mistakes are not logged. */
export function logError(log: Logger, error: CFError, fields: Readonly<Record<string, string>>): void {
  if (error.key === "UnknownError") log.error({ ...fields, err: error.cause ?? error }, "request failed");
  else if (error.status >= 500)
    log.warn({ ...fields, err: error.cause ?? error, code: error.errors[0]?.code }, "request refused");
}
