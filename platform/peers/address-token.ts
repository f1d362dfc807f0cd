// Tokens that processes of the platform authenticate with: one for each purpose and address, all derived from one secret that is never sent.
import { createHmac } from "node:crypto";

/** Purpose of a token: reading logs and stats, or connections between API replicas. */
export type TokenPurpose = "telemetry" | "replicas";

/**
 * The token for an address: a client sends it, the server there expects it. Only scheme, host and port of the URL count. A foreign server that
 * published its own address cannot use the token elsewhere. @throws TypeError when `url` is not a URL
 */
export function deriveAddressToken(secret: string, purpose: TokenPurpose, url: string): string {
  const { protocol, host } = new URL(url);
  return createHmac("sha256", secret).update(`${purpose} ${protocol}//${host}`).digest("base64url");
}

/** Whether tokens may be sent to the address. */
export function isHttpAddress(url: string): boolean {
  return URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);
}

/** The token by which a hub reads the logs and stats of a spoke with this secret. */
export function deriveHubToken(secret: string): string {
  return createHmac("sha256", secret).update("hub telemetry").digest("base64url");
}
