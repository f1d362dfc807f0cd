// The options of `cupola` for users of a token issuer that kube-apiserver does not trust.
import type { Command } from "commander";
import { checkTokenIssuer, type TokenIssuerSettings } from "../api/identity/token-issuer.ts";
import { omitUndefined } from "../kube/api/omit-undefined.ts";
import { readOptionFile } from "./read-option-file.ts";

export interface TokenIssuerOptions {
  tokenIssuer?: string;
  tokenAudience?: string;
  tokenCa?: string;
  tokenUserClaim?: string;
  tokenGroupsClaim?: string;
  userPrefix?: string;
}

/** Name of a Cloud Foundry API in UAA. */
const DEFAULT_AUDIENCE = "cloud_controller";

export function addTokenIssuerOptions(command: Command): Command {
  return command
    .option(
      "--token-issuer <url>",
      "take tokens of this issuer, which kube-apiserver does not trust, and impersonate their users (see docs/security.md first)",
    )
    .option("--token-audience <name>", `audience that its tokens must have (default: "${DEFAULT_AUDIENCE}")`)
    .option("--token-ca <file>", "authority of the issuer's certificate (default: the system's)")
    .option("--token-user-claim <claim>", 'claim with the user\'s name (default: "sub")')
    .option("--token-groups-claim <claim>", "claim with the groups' names (default: no groups)")
    .option(
      "--user-prefix <prefix>",
      "before its users' and groups' names in Kubernetes (default: the issuer's URL and #)",
    );
}

/** @throws Error when options are given without the issuer, or are unsafe, or the file cannot be read */
export function toTokenIssuerSettings(options: TokenIssuerOptions): TokenIssuerSettings | undefined {
  const { tokenIssuer: url, tokenAudience, tokenCa, tokenUserClaim, tokenGroupsClaim, userPrefix } = options;
  const others = [tokenAudience, tokenCa, tokenUserClaim, tokenGroupsClaim, userPrefix];
  if (url === undefined) {
    if (others.some((one) => one !== undefined))
      throw new Error("--token-audience, --token-ca, --token-*-claim and --user-prefix go with --token-issuer");
    return undefined;
  }
  const settings: TokenIssuerSettings = {
    url,
    audience: tokenAudience ?? DEFAULT_AUDIENCE,
    userClaim: tokenUserClaim ?? "sub",
    prefix: userPrefix ?? `${url}#`,
    ...omitUndefined({
      groupsClaim: tokenGroupsClaim,
      ca: tokenCa === undefined ? undefined : readOptionFile("--token-ca", tokenCa),
    }),
  };
  checkTokenIssuer(settings);
  return settings;
}
