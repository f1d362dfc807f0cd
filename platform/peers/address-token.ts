// The tokens by which processes of the platform know each other: for each purpose and address another one, all from one secret that is never sent.
import { createHmac } from "node:crypto";

/** What a token is good for: reading logs and stats, or the line between API replicas. */
export type TokenPurpose = "telemetry" | "replicas";

/**
 * The token for an address: a client sends it, the server there expects it. Only scheme, host and port of the URL count. Whoever gets it, since an
 * address was published that is not the platform's, can use it nowhere else. @throws TypeError when it is no URL
 */
export function deriveAddressToken(secret: string, purpose: TokenPurpose, url: string): string {
  const { protocol, host } = new URL(url);
  return createHmac("sha256", secret).update(`${purpose} ${protocol}//${host}`).digest("base64url");
}

/** Whether it is an address that tokens are sent to at all. */
export function isHttpAddress(url: string): boolean {
  return URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);
}
