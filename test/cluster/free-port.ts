// Ports for programs that cannot be told "any port" and then asked which.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that Linux (32768 on) and macOS (49152 on) hand to outgoing connections: what is down for a moment finds its port free again. */
const RANGE = [20_000, 32_000] as const;
const TRIES = 50;

/** A loopback TCP port that was free a moment ago. Another process may take it first: callers retry. @throws Error when none of many is free */
export async function freePort(): Promise<number> {
  for (let triesLeft = TRIES; triesLeft > 0; triesLeft--) {
    const port = randomInt(...RANGE);
    if (await isFree(port)) return port;
  }
  throw new Error(
    `none of ${TRIES} ports between ${RANGE.join(" and ")} is free: end some of what listens on loopback`,
  );
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
