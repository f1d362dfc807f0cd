// Addresses of log drains: which there are, and the settings in their queries. Pure.

/** `https-batch` puts several messages into one request. */
export type DrainTransport = "syslog" | "syslog-tls" | "https" | "https-batch";

export interface DrainAddress {
  transport: DrainTransport;
  host: string;
  port: number;
  /** For https: where messages are posted. It may hold a password, so it is in no text for people. */
  url: string;
  hasMetadata: boolean;
  /** False for a drain of metrics alone, which gets nothing here. */
  wantsLogs: boolean;
}

/** Why an address can be no drain, without the address. */
export interface DrainProblem {
  problem: string;
}

const PORTS: Readonly<Record<DrainTransport, number>> = {
  syslog: 514,
  "syslog-tls": 6514,
  https: 443,
  "https-batch": 443,
};
const LOGS = new Set(["logs", "all", ""]);

export function parseDrainAddress(text: string): DrainAddress | DrainProblem {
  if (!URL.canParse(text)) return { problem: "its address is no URL" };
  const transport = new URL(text).protocol.slice(0, -1);
  if (!isTransport(transport)) return { problem: "its address begins with none of syslog, syslog-tls and https" };
  const posted = text.trim().replace(/^https-batch:/i, "https:");
  if (!URL.canParse(posted)) return { problem: "its address is no URL" };
  // As https the host is read as the client reads it: `127.1` is 127.0.0.1. A host of syslog stays as it is written, and is looked up.
  const url = new URL(posted);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host === "") return { problem: "its address names no host" };
  const { searchParams: query } = url;
  return {
    transport,
    host,
    port: url.port === "" ? PORTS[transport] : Number(url.port),
    url: posted,
    hasMetadata: query.get("disable-metadata") !== "true",
    wantsLogs: LOGS.has(query.get("drain-data") ?? query.get("drain-type") ?? ""),
  };
}

/** Where it is connected to, which may be shown to people. */
export function toHostAndPort({ host, port }: Pick<DrainAddress, "host" | "port">): string {
  return `${host}:${port}`;
}

function isTransport(text: string): text is DrainTransport {
  return Object.hasOwn(PORTS, text);
}
