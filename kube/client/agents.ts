// Connection pools of one cluster: one for requests and one for watches, and the same again for each client certificate in use.
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { Agent } from "undici";

/** What a connection shows of itself. Both are PEM. */
export interface ClientCertificate {
  cert: string;
  key: string;
}

export interface TlsOptions {
  /** PEM; the system's authorities when left out. */
  ca?: string;
  /** Skips verification. Never in production. */
  insecure?: boolean;
  /** Verify the server under this name instead of the address's. */
  serverName?: string;
}

export interface AgentPair {
  /** Short exchanges: at most 32 connections. */
  requests: Agent;
  /** Long streams: as many connections as there are streams, so that they never starve requests. */
  streams: Agent;
}

export interface Agents {
  /** Connections without a certificate unless one is given. A token must never travel beside our own certificate: the server would see us, not the caller. */
  forCertificate(certificate?: ClientCertificate): AgentPair;
  close(): Promise<void>;
}

/** Callers' certificates kept connected at once; the least recently used is closed when its requests have ended. */
export const MAX_CERTIFICATES = 128;

export function createAgents(tls: TlsOptions): Agents {
  const withoutCertificate = createPair(tls);
  const closing = new Set<Promise<void>>();
  const byCertificate = new LRUCache<string, AgentPair>({
    max: MAX_CERTIFICATES,
    dispose: (pair) => {
      const closed = closePair(pair).finally(() => closing.delete(closed));
      closing.add(closed);
    },
  });
  return {
    forCertificate(certificate) {
      if (!certificate) return withoutCertificate;
      const id = createHash("sha256").update(certificate.cert).update("\0").update(certificate.key).digest("base64");
      const known = byCertificate.get(id);
      if (known) return known;
      const made = createPair(tls, certificate);
      byCertificate.set(id, made);
      return made;
    },
    async close() {
      const pairs = [withoutCertificate, ...byCertificate.values()];
      // Begins the graceful close of each; destroying them then ends what is in flight.
      byCertificate.clear();
      await Promise.all(pairs.flatMap((pair) => [pair.requests.destroy(), pair.streams.destroy()]));
      await Promise.all(closing);
    },
  };
}

async function closePair(pair: AgentPair): Promise<void> {
  await Promise.all([pair.requests.close(), pair.streams.close()]);
}

function createPair(tls: TlsOptions, certificate?: ClientCertificate): AgentPair {
  const connect = {
    timeout: 30_000,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...(tls.insecure && { rejectUnauthorized: false }),
    ...(tls.serverName && { servername: tls.serverName }),
    ...certificate,
  };
  // Deadlines are the caller's signals, so undici's own timers are off. HTTP/2 stays off until a soak test says otherwise.
  const common = {
    connect,
    allowH2: false,
    keepAliveTimeout: 30_000,
    keepAliveMaxTimeout: 120_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
  };
  return { requests: new Agent({ ...common, connections: 32 }), streams: new Agent({ ...common }) };
}
