// Maps the claims of a verified token to a user and groups. Pure. Never yields a user or group that the cluster or the platform trusts by name.
import type { JWTPayload } from "jose";
import { PLATFORM_GROUP } from "../../crds/platform-role.ts";

/** How claims of an issuer's tokens map to a Kubernetes user and groups. */
export interface ClaimMapping {
  /** Claim with the user's name. */
  userClaim: string;
  /** Claim with the group names, a string or an array; without it users have no groups. */
  groupsClaim?: string;
  /** Prepended to every name, so that the issuer's names never equal the cluster's; see `findPrefixProblem`. */
  prefix: string;
}

/** Kubernetes user and group names. */
export interface ClaimedIdentity {
  user: string;
  groups: readonly string[];
}

const MAX_GROUPS = 200;
const RESERVED = ["system:", PLATFORM_GROUP.replace(/:.*/, ":")];
/** A name that a header carries unchanged: printable ASCII, no space at either end, at most 256 characters. */
const NAME = /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/;
/** UAA signs refresh tokens and access tokens alike; only the suffix of the id distinguishes them. */
const UAA_REFRESH_TOKEN = /^[0-9a-f]{32}-r$/;

/** The requirement that a prefix breaks; undefined when it is valid. */
export function findPrefixProblem(prefix: string): string | undefined {
  if (!/^[\x21-\x7e]{1,200}$/.test(prefix)) return "is printable ASCII without spaces, and not empty";
  // If the prefix ended in a letter, prefix and name together could spell a reserved name.
  if (/[A-Za-z0-9]$/.test(prefix)) return 'ends in a separator, for example "uaa:"';
  const reserved = RESERVED.find((start) => prefix.startsWith(start));
  return reserved && `may not begin with ${reserved}`;
}

/** The identity, or the reason for refusal: `refused` is for the operator's log and contains claim names but no claim values. */
export function toClaimedIdentity(claims: JWTPayload, mapping: ClaimMapping): ClaimedIdentity | { refused: string } {
  const { userClaim, groupsClaim, prefix } = mapping;
  const user = claims[userClaim];
  const groups = [(groupsClaim && claims[groupsClaim]) ?? []].flat() as unknown[];
  if (isRefreshToken(claims)) return { refused: "it is a refresh token" };
  if (userClaim === "email" && (claims["email_verified"] ?? true) !== true)
    return { refused: "its email is not verified" };
  if (!isName(user, prefix)) return { refused: `its claim ${userClaim} is not a user's name that may be taken over` };
  if (groups.length > MAX_GROUPS) return { refused: `its claim ${groupsClaim} has more than ${MAX_GROUPS} groups` };
  if (!areNames(groups, prefix))
    return { refused: `its claim ${groupsClaim} holds what is not a group's name that may be taken over` };
  return { user: prefix + user, groups: [...new Set(groups)].map((group) => prefix + group) };
}

function isRefreshToken({ jti }: JWTPayload): boolean {
  return typeof jti === "string" && UAA_REFRESH_TOKEN.test(jti);
}

function areNames(values: unknown[], prefix: string): values is string[] {
  return values.every((value) => isName(value, prefix));
}

function isName(value: unknown, prefix: string): value is string {
  if (typeof value !== "string" || !NAME.test(value)) return false;
  return !RESERVED.some((start) => value.startsWith(start) || (prefix + value).startsWith(start));
}
