// Tokens of an issuer that kube-apiserver does not trust: verified here; the platform's client then impersonates the user.
import { decodeJwt, errors, jwtVerify, type JWTPayload } from "jose";
import type { Logger } from "pino";
import { SelfSubjectReview } from "../../kube/api/builtin.ts";
import type { Identity, KubeClient } from "../../kube/client/client.ts";
import { isForbidden } from "../../kube/client/errors.ts";
import { unavailable } from "../http/errors.ts";
import { createIssuerKeys } from "./issuer-keys.ts";
import { type ClaimedIdentity, type ClaimMapping, toClaimedIdentity, findPrefixProblem } from "./token-claims.ts";

export interface TokenIssuerSettings extends ClaimMapping {
  /** https URL, exactly as in the tokens' `iss` claim; the discovery document is below it. */
  url: string;
  /** Audience that tokens must include. */
  audience: string;
  /** CA certificate of the issuer's server, PEM; the system's CAs when omitted. */
  ca?: string;
}

/** Name of the ClusterRole that lets the platform impersonate. */
export const IMPERSONATOR_ROLE = "cupola-impersonator";

/** Asymmetric signatures only: a key that verifies tokens must not be able to sign them. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
const SYSTEM_AUTHENTICATED = "system:authenticated";

/** A caller's identity as Kubernetes sees it, and how to impersonate it. */
export interface ImpersonatedIdentity {
  name: string;
  groups: readonly string[];
  as: Extract<Identity, { kind: "impersonate" }>;
}

export interface TokenIssuer {
  /** Whether a token claims to be from this issuer. Verifies nothing. */
  isIssuerOf(token: string): boolean;
  /** Undefined for an invalid token. @throws CFError 503 when the issuer or Kubernetes does not answer, or the permission to impersonate is missing */
  review(client: KubeClient, token: string, deadlineMs: number): Promise<ImpersonatedIdentity | undefined>;
}

/** @throws Error when the settings would be unsafe */
export function createTokenIssuer(
  settings: TokenIssuerSettings,
  { now, log }: { now: () => Date; log: Logger },
): TokenIssuer {
  const { url, audience, ca } = settings;
  checkTokenIssuer(settings);
  const keys = createIssuerKeys(url, ca);
  const logRejection = (reason: string): undefined =>
    log.info({ issuer: url, reason }, "refused a token of the issuer") as undefined;
  const verify = async (token: string): Promise<JWTPayload | undefined> => {
    try {
      return (
        await jwtVerify(token, keys, {
          issuer: url,
          audience,
          algorithms: ALGORITHMS,
          requiredClaims: ["exp"],
          currentDate: now(),
        })
      ).payload;
    } catch (cause) {
      // Claims are only logged after the signature is verified, so a stranger cannot fill the log.
      if (cause instanceof errors.JWTClaimValidationFailed)
        return logRejection(`its claim ${cause.claim}: ${cause.reason}`);
      if (cause instanceof errors.JOSEError) return undefined;
      throw unavailable("The identity cannot be checked: the token issuer does not answer. Try again.", { cause });
    }
  };
  return {
    isIssuerOf: (token) => issuerOf(token) === url,
    async review(client, token, deadlineMs) {
      const payload = await verify(token);
      const identity = payload && toClaimedIdentity(payload, settings);
      if (!identity) return undefined;
      if ("refused" in identity) return logRejection(identity.refused);
      return (
        (await verifyImpersonation(client, identity, deadlineMs)) ??
        logRejection("Kubernetes sees somebody else than it names")
      );
    },
  };
}

/** @throws Error that names the unsafe setting */
export function checkTokenIssuer({ url, audience, prefix, userClaim }: TokenIssuerSettings): void {
  if (!URL.canParse(url) || new URL(url).protocol !== "https:") throw new Error("the token issuer is an https URL");
  if (audience === "") throw new Error("the audience of the issuer's tokens is empty");
  if (userClaim === "") throw new Error("the claim of the user's name is empty");
  const problem = findPrefixProblem(prefix);
  if (problem) throw new Error(`the prefix of the issuer's users ${problem}`);
}

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined; // An opaque token: only Kubernetes can review it.
  }
}

/** Sends a SelfSubjectReview while impersonating, which also proves that the platform may. Undefined unless Kubernetes returns exactly the token's user and groups. */
async function verifyImpersonation(
  client: KubeClient,
  { user, groups }: ClaimedIdentity,
  deadlineMs: number,
): Promise<ImpersonatedIdentity | undefined> {
  const as: ImpersonatedIdentity["as"] = { kind: "impersonate", user, groups };
  const seen = await client
    .as(as)
    .review(SelfSubjectReview, {}, { deadlineMs })
    .catch((cause: unknown) => {
      if (isForbidden(cause))
        throw unavailable(
          `The platform may not speak for users of the token issuer: bind it to the ClusterRole ${IMPERSONATOR_ROLE}.`,
          { cause },
        );
      throw unavailable("The identity cannot be checked: the Kubernetes API does not answer. Try again.", { cause });
    });
  const { username, groups: seenGroups = [] } = seen.status?.userInfo ?? {};
  const expected = new Set([...groups, SYSTEM_AUTHENTICATED]);
  const same = username === user && new Set(seenGroups).symmetricDifference(expected).size === 0;
  return same ? { name: user, groups: seenGroups, as } : undefined;
}
