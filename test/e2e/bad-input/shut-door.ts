// A body that is refused early may find the door shut while it is still being sent. Pure.
import type { ApiAnswer } from "../support/api.ts";
import type { Attack } from "./attacks.ts";

const SHUT = ["EPIPE", "ECONNRESET", "UND_ERR_SOCKET"];

/** Whether an error of the client is that. */
export function isShutEarly({ what }: Attack, error: unknown): boolean {
  return isTooLarge(what) && SHUT.includes((error as { code?: string }).code ?? "");
}

/** Whether the proxy of the tests before a node's platform, and not the platform, met it and answers so. */
export function isShutToFront({ what }: Attack, { status, text }: ApiAnswer): boolean {
  const isFront = /^the front cannot reach it: .*(EPIPE|ECONNRESET|socket hang up)/.test(text);
  return isTooLarge(what) && status === 502 && isFront;
}

function isTooLarge(what: string): boolean {
  return what === "two megabytes";
}
