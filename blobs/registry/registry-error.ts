// Errors between the platform and a registry. No message has a credential, a query or more of a body than the registry's own error text.
import { BlobStoreUnavailable } from "../blob-store.ts";
import { parseJson } from "../../kube/api/parse-json.ts";

/** The registry did not do what was asked: it is away, refuses, or answers nonsense. */
export class RegistryError extends BlobStoreUnavailable {
  /** The registry's own code, such as MANIFEST_BLOB_UNKNOWN. */
  readonly code: string | undefined;
  /** Value of Retry-After. */
  readonly retryAfter: string | undefined;
  constructor(
    message: string,
    { status, code, retryAfter, cause }: { status?: number; code?: string; retryAfter?: string; cause?: unknown } = {},
  ) {
    super(message, { ...(status !== undefined && { status }), cause });
    this.name = "RegistryError";
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** The registry has no such image, tag or layer. */
export class ImageNotFound extends Error {
  constructor(image: string) {
    super(`there is no image ${image}, or it is not to be seen with these credentials`);
    this.name = "ImageNotFound";
  }
}

/** The content that came has another digest than the one asked for. */
export class WrongDigest extends RegistryError {
  constructor(digest: string, from: string) {
    super(`${from} sent other content than ${digest}`);
    this.name = "WrongDigest";
  }
}

const MAX_TEXT = 200;

/** The first error of an OCI error body: code and message, without control characters and cut short. */
export function readErrorBody(body: string): { code?: string; message?: string } {
  try {
    const { errors } = parseJson(body) as { errors?: { code?: unknown; message?: unknown }[] };
    const [first] = Array.isArray(errors) ? errors : [];
    return {
      ...(typeof first?.code === "string" && { code: clean(first.code) }),
      ...(typeof first?.message === "string" && { message: clean(first.message) }),
    };
  } catch {
    return {}; // a proxy's HTML, or nothing
  }
}

function clean(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, MAX_TEXT);
}
