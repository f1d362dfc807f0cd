// Waiting for a condition with a deadline, and for a platform to come to rest.
import { setTimeout as delay } from "node:timers/promises";

const DEADLINE_MS = 900_000;

/** @throws Error with the complaint when it does not hold in a quarter of an hour */
export async function until(check: () => Promise<boolean>, complaint: string, pauseMs = 100): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`${complaint} within ${DEADLINE_MS / 1000} s`);
    await delay(pauseMs);
  }
}

/** Waits until no controller has work and `versionOf` gives the same for `quietMs`. */
export async function waitUntilStable(
  idle: () => Promise<unknown>,
  versionOf: () => Promise<unknown>,
  quietMs = 1_000,
): Promise<void> {
  let last: unknown;
  let since = 0;
  await until(
    async () => {
      await idle();
      const version = await versionOf();
      if (version !== last) since = Date.now();
      last = version;
      return Date.now() - since >= quietMs;
    },
    "the platform does not come to rest",
    1000,
  );
}
