// Credentials of an identity: a client certificate and request headers.
import type { ClientCertificate } from "./agents.ts";
import type { Identity } from "./client.ts";

export interface Credentials {
  certificate?: ClientCertificate;
  headers: Record<string, string | string[]>;
}

/** Called before every request, so it caches costly credentials. `renew`: the last credential was rejected, so bypass the cache. */
export type CredentialSource = (options?: { renew?: boolean }) => Credentials | Promise<Credentials>;

/** @throws TypeError when a value cannot be sent in a header */
export function toCredentials(identity: Identity, base: Credentials = { headers: {} }): Credentials {
  switch (identity.kind) {
    case "token":
      return { headers: { authorization: `Bearer ${headerSafe(identity.token, "token")}` } };
    case "certificate":
      return { certificate: { cert: identity.cert, key: identity.key }, headers: {} };
    case "anonymous":
      return { headers: {} };
    case "impersonate":
      return { ...base, headers: { ...base.headers, ...impersonation(identity) } };
  }
}

function impersonation(identity: Extract<Identity, { kind: "impersonate" }>): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { "impersonate-user": headerSafe(identity.user, "user") };
  if (identity.uid) headers["impersonate-uid"] = headerSafe(identity.uid, "uid");
  if (identity.groups?.length)
    headers["impersonate-group"] = identity.groups.map((group) => headerSafe(group, "group"));
  for (const [key, values] of Object.entries(identity.extra ?? {})) {
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = values.map((value) =>
      headerSafe(value, "extra"),
    );
  }
  return headers;
}

// The error names the field but never its value, which may be a credential.
function headerSafe(value: string, what: string): string {
  if (!/^[\x20-\x7e]*$/.test(value))
    throw new TypeError(`the ${what} of an identity contains characters that a header cannot carry`);
  return value;
}
