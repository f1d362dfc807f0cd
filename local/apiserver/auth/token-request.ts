// serviceaccounts/token: `kubectl create token`.
import { randomUUID } from "node:crypto";
import type { ResourceReader, VirtualRequest, VirtualResource } from "../types.ts";
import { invalidValue, notSupported } from "../field-errors.ts";
import { conflict, invalid, notFound } from "../status.ts";
import type { ServiceAccountTokens, TokenClaims } from "./service-account-tokens.ts";

const defaultLifetime = 3600;
const shortest = 600;
const longest = 2 ** 32;
/** The longest life of a token, as in kube-apiserver: a year. */
const granted = 365 * 24 * 3600;

export interface TokenRequestDeps {
  reader: ResourceReader;
  tokens: ServiceAccountTokens;
  audiences: string[];
  /** Milliseconds. */
  now: () => number;
}

interface TokenRequestSpec {
  audiences?: string[];
  expirationSeconds?: number;
  boundObjectRef?: { kind?: string; name?: string; uid?: string };
}

/** The subresource; only service accounts that exist get tokens. */
export function tokenRequestResource(deps: TokenRequestDeps): VirtualResource {
  return {
    gvr: { group: "", version: "v1", resource: "serviceaccounts" },
    subresource: "token",
    gvk: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
    namespaced: true,
    create: (request) => createToken(request, deps),
  };
}

async function createToken(
  { namespace, name, body }: VirtualRequest,
  { reader, tokens, audiences, now }: TokenRequestDeps,
) {
  const account = reader.find("", "serviceaccounts", namespace, name);
  if (!account?.metadata.uid) throw notFound({ group: "", resource: "serviceaccounts" }, name);
  const spec = ((body as { spec?: TokenRequestSpec }).spec ?? {}) satisfies TokenRequestSpec;
  const asked = spec.expirationSeconds ?? defaultLifetime;
  checkLifetime(asked);
  const claims: TokenClaims = {
    namespace,
    name,
    uid: account.metadata.uid,
    audiences: spec.audiences?.length ? spec.audiences : audiences,
    lifetime: Math.min(asked, granted),
  };
  const bound = boundObject(spec, namespace, reader);
  const issued = await tokens.issue({ ...claims, ...(bound && { bound }) });
  return {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: {
      ...body.metadata,
      name,
      namespace,
      uid: randomUUID(),
      creationTimestamp: new Date(now()).toISOString().replace(/\.\d+Z/, "Z"),
    },
    spec: {
      audiences: claims.audiences,
      expirationSeconds: claims.lifetime,
      boundObjectRef: spec.boundObjectRef ?? null,
    },
    status: { token: issued.token, expirationTimestamp: issued.expires },
  };
}

function checkLifetime(seconds: number): void {
  const fault =
    seconds < shortest
      ? "may not specify a duration less than 10 minutes"
      : seconds > longest
        ? "may not specify a duration larger than 2^32 seconds"
        : undefined;
  if (fault)
    throw invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", [
      invalidValue("spec.expirationSeconds", seconds, fault),
    ]);
}

const BINDABLE = new Map([
  ["Pod", "pods"],
  ["Secret", "secrets"],
]);

/** The Pod or Secret that the token ends with. */
function boundObject(
  { boundObjectRef: ref }: TokenRequestSpec,
  namespace: string,
  reader: ResourceReader,
): TokenClaims["bound"] {
  if (!ref?.kind || !ref.name) return undefined;
  const resource = BINDABLE.get(ref.kind);
  if (!resource)
    throw invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", [
      notSupported("spec.boundObjectRef.kind", ref.kind, [...BINDABLE.keys()]),
    ]);
  const uid = reader.find("", resource, namespace, ref.name)?.metadata.uid;
  if (!uid) throw notFound({ group: "", resource }, ref.name);
  if (ref.uid && ref.uid !== uid)
    throw conflict(
      { group: "", resource },
      ref.name,
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  return { kind: ref.kind, name: ref.name, uid };
}
