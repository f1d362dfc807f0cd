// The line between API replicas: where this one listens for the others, and who the others are, by the membership.
import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { isIP, type AddressInfo } from "node:net";
import { listening } from "../../kube/server/start-listening.ts";
import type { Member, Membership } from "../../kube/lease/membership.ts";
import { issueCertificate, makeAuthority } from "../../kube/server/pki.ts";
import type { PeerDirectory } from "../../api/peers/peer-group.ts";
import type { Peer } from "../../api/peers/peer-protocol.ts";
import { seenMembers } from "../leases/replica-membership.ts";

const ANNOTATIONS = { url: "cupola.dev/peer-url", authority: "cupola.dev/peer-authority" } as const;
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1)$/;

export interface PeerServer {
  url: string;
  /** The token that opens a URL of this line. */
  tokenFor(url: string): string;
  /** The certificate that its own is signed by, PEM; on loopback there is none. */
  authority?: string;
  /** From now on it answers; 503 before. */
  serve(handler: RequestListener): void;
  close(): Promise<void>;
}

/** Listens at any port of an address; off loopback with a certificate made for this life of the process. `tokenFor` gives the token that opens a URL; `onFault` is told of connections that could not be taken. */
export async function startPeerServer(address: string, tokenFor: (url: string) => string, onFault: (error: Error) => void): Promise<PeerServer> {
  let handler: RequestListener = (_request, response) => void response.writeHead(503).end();
  const tls = LOOPBACK.test(address) ? undefined : await makeTls(address);
  const server = tls ? createTlsServer({ ...tls, minVersion: "TLSv1.3" }) : createServer();
  await listening(server, { port: 0, host: address }, onFault);
  const { port } = server.address() as AddressInfo;
  const url = `${tls ? "https" : "http"}://${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  const token = tokenFor(url);
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (isAllowed(request.headers.authorization, token)) return handler(request, response);
    response.writeHead(401, { connection: "close" }).end();
  });
  return {
    url,
    tokenFor,
    ...(tls && { authority: tls.authority }),
    serve: (given) => void (handler = given),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function makeTls(address: string): Promise<{ cert: string; key: string; authority: string }> {
  const authority = await makeAuthority("authority of a cupola replica");
  const pair = await issueCertificate(authority, { commonName: address, ...(isIP(address) ? { ipAddresses: [address] } : { dnsNames: [address] }) }, { usage: "server" });
  return { ...pair, authority: authority.cert };
}

function isAllowed(header: string | undefined, token: string): boolean {
  const [given, wanted] = [Buffer.from(header ?? ""), Buffer.from(`Bearer ${token}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** What the Lease of this replica says of where the others reach it. */
export function peerAnnotations({ url, authority }: PeerServer): Record<string, string> {
  return { [ANNOTATIONS.url]: url, ...(authority && { [ANNOTATIONS.authority]: authority }) };
}

/** The API replicas among the members. */
export function peerDirectory(membership: Membership, { url, authority }: PeerServer): PeerDirectory {
  const others = (members: readonly Member[]): Peer[] => members.filter(({ identity }) => identity !== membership.identity).flatMap(toPeer);
  return {
    self: { identity: membership.identity, url, ...(authority && { authority }) },
    peers() {
      const members = seenMembers(membership);
      return members && others(members);
    },
    ask: async () => others(await membership.listConsistent()),
    onChange: (listener) => membership.onChange(listener),
    holds: () => membership.holds(),
    async drop({ identity }) {
      const member = (await membership.listConsistent()).find((one) => one.identity === identity);
      if (member) await membership.evict(member);
    },
  };
}

function toPeer({ identity, annotations }: Member): Peer[] {
  const [url, authority] = [annotations[ANNOTATIONS.url], annotations[ANNOTATIONS.authority]];
  return url ? [{ identity, url, ...(authority && { authority }) }] : [];
}
