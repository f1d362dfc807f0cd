// Connection pools of one cluster: one for requests and one for streams, for each client certificate in use.
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { Agent } from "undici";

/** A client certificate; both fields are PEM. */
export interface ClientCertificate {
  cert: string;
  key: string;
}

export interface TlsOptions {
  /** PEM; the system's authorities by default. */
  ca?: string;
  /** Skips verification. Never in production. */
  insecure?: boolean;
  /** Server name to verify instead of the address's. */
  serverName?: string;
}

export interface AgentPair {
  /** Short exchanges: at most 32 connections. */
  requests: Agent;
  /** Streams: unbounded connections, so that they never starve requests. */
  streams: Agent;
}

export interface Agents {
  /** Without an argument: connections without a certificate. Never send a token over our own certificate: the server would authenticate us, not the caller. */
  forCertificate(certificate?: ClientCertificate): AgentPair;
  close(): Promise<void>;
}

/** Certificates with open pools; the least recently used pool closes when its requests have ended. */
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
      // Starts a graceful close of each; destroy then aborts requests in flight.
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
  // Callers bring deadlines as signals, so undici's timers are off. HTTP/2 stays off until a soak test has passed.
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
