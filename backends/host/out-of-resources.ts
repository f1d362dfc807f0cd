// Errors of a process or machine without free descriptors, memory or ports. They imply nothing about the target of the call.
import { setTimeout as delay } from "node:timers/promises";

const codes: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL"]);

/** True for an error of our own shortage. */
export function isOutOfResources(error: unknown): boolean {
  return error instanceof Error && "code" in error && codes.has(String(error.code));
}

const retryMs = 100;
const maxTries = 50;

/** Repeats `call` for 5 s while we are short of resources. @throws its last error */
export async function retryWhileShort<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!isOutOfResources(error) || tries >= maxTries) throw error;
    }
    await delay(retryMs);
  }
}
