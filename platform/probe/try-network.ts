// Whether a NetworkPolicy is enforced: one pod listens at two ports, of which the policy opens one; another tries both.
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { NetworkOutcome } from "./outcome.ts";

const CONNECT_DEADLINE_MS = 2_000;
const PAUSE_MS = 500;
/** Until the other pod listens. */
const OPEN_DEADLINE_MS = 30_000;
/** A network may take seconds to enforce a new policy. */
const CLOSED_DEADLINE_MS = 15_000;
/** A single lost connection is no policy. */
const REFUSALS = 2;

/** Accepts connections, and ends each at once, until this process is told to stop. */
export async function listen(host: string, ports: readonly number[]): Promise<void> {
  await Promise.all(
    ports.map(async (port) => {
      const server = createServer((socket) => socket.on("error", () => undefined).end());
      await once(server.listen(port, host), "listening");
    }),
  );
}

export async function tryPorts(
  host: string,
  { open, closed }: { open: number; closed: number },
): Promise<NetworkOutcome> {
  if (!(await untilReached(host, open))) return { isOpenReached: false, isClosedReached: false };
  const isClosedReached = await staysReachable(host, closed);
  // A pod that went away meanwhile is no policy.
  return { isOpenReached: await isReached(host, open), isClosedReached };
}

async function untilReached(host: string, port: number): Promise<boolean> {
  const deadline = Date.now() + OPEN_DEADLINE_MS;
  for (;;) {
    if (await isReached(host, port)) return true;
    if (Date.now() >= deadline) return false;
    await delay(PAUSE_MS);
  }
}

async function staysReachable(host: string, port: number): Promise<boolean> {
  const deadline = Date.now() + CLOSED_DEADLINE_MS;
  let refusals = 0;
  while (refusals < REFUSALS) {
    if (await isReached(host, port)) {
      refusals = 0;
      if (Date.now() >= deadline) return true;
      await delay(PAUSE_MS);
    } else refusals++;
  }
  return false;
}

async function isReached(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, signal: AbortSignal.timeout(CONNECT_DEADLINE_MS) });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
