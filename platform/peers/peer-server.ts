// The line between API replicas: where this one listens for the others, and who the others are, by the membership.
import { timingSafeEqual } from "node:crypto";
import type { RequestListener } from "node:http";
import { isIP, type AddressInfo } from "node:net";
import { createListener } from "../../kube/server/listener.ts";
import { startListening } from "../../kube/server/start-listening.ts";
import type { Membership } from "../../kube/lease/membership.ts";
import type { Member } from "../../kube/lease/member.ts";
import { issueCertificate, makeAuthority } from "../../kube/server/pki.ts";
import type { PeerDirectory } from "../../api/peers/peer-group.ts";
import type { Peer } from "../../api/peers/peer-protocol.ts";
import { findLiveMembers } from "../leases/replica-membership.ts";

const PEER_ANNOTATIONS = { url: "cupola.dev/peer-url", authority: "cupola.dev/peer-authority" } as const;
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1)$/;

/** Of the process's descriptors. A process has two of these listeners, for peers and for telemetry. */
const CONNECTION_SHARE = 0.05;

export interface PeerServer {
  url: string;
  /** The token that opens a URL of this line. */
  tokenFor(url: string): string;
  /** The certificate that its own is signed by, PEM; on loopback there is none. */
  authority?: string;
  /** From now on it answers; 503 before. */
  setHandler(handler: RequestListener): void;
  close(): Promise<void>;
}

/** Listens at any port of an address; off loopback with a certificate made for this life of the process. `tokenFor` gives the token that opens a URL; `onError` gets the errors of connections that were not accepted. */
export async function startPeerListener(
  address: string,
  tokenFor: (url: string) => string,
  onError: (error: Error) => void,
): Promise<PeerServer> {
  let handler: RequestListener = (_request, response) => void response.writeHead(503).end();
  const tls = LOOPBACK.test(address) ? undefined : await issueServerCertificate(address);
  const expected: { token?: string } = {};
  const server = createListener(
    { ...(tls && { tls: { ...tls, minVersion: "TLSv1.3" } }), share: CONNECTION_SHARE },
    (request, response) => {
      if (expected.token !== undefined && hasPeerToken(request.headers.authorization, expected.token))
        return handler(request, response);
      response.writeHead(401, { connection: "close" }).end();
    },
  );
  await startListening(server, { port: 0, host: address }, onError);
  const { port } = server.address() as AddressInfo;
  const url = `${tls ? "https" : "http"}://${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  expected.token = tokenFor(url);
  return {
    url,
    tokenFor,
    ...(tls && { authority: tls.authority }),
    setHandler: (given) => void (handler = given),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function issueServerCertificate(address: string): Promise<{ cert: string; key: string; authority: string }> {
  const authority = await makeAuthority("authority of a cupola replica");
  const pair = await issueCertificate(
    authority,
    { commonName: address, ...(isIP(address) ? { ipAddresses: [address] } : { dnsNames: [address] }) },
    { usage: "server" },
  );
  return { ...pair, authority: authority.cert };
}

function hasPeerToken(header: string | undefined, token: string): boolean {
  const [given, expected] = [Buffer.from(header ?? ""), Buffer.from(`Bearer ${token}`)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** What the Lease of this replica says of where the others reach it. */
export function toPeerAnnotations({ url, authority }: PeerServer): Record<string, string> {
  return { [PEER_ANNOTATIONS.url]: url, ...(authority && { [PEER_ANNOTATIONS.authority]: authority }) };
}

/** The API replicas among the members. */
export function createPeerDirectory(membership: Membership, { url, authority }: PeerServer): PeerDirectory {
  const listOthers = (members: readonly Member[]): Peer[] =>
    members.filter(({ identity }) => identity !== membership.identity).flatMap(toPeers);
  return {
    self: { identity: membership.identity, url, ...(authority && { authority }) },
    findPeers() {
      const members = findLiveMembers(membership);
      return members && listOthers(members);
    },
    fetchPeers: async () => listOthers(await membership.listConsistent()),
    onChange: (listener) => membership.onChange(listener),
    isMember: () => membership.isMember(),
    async removePeer({ identity }) {
      const member = (await membership.listConsistent()).find((one) => one.identity === identity);
      if (member) await membership.evict(member);
    },
  };
}

function toPeers({ identity, annotations }: Member): Peer[] {
  const [url, authority] = [annotations[PEER_ANNOTATIONS.url], annotations[PEER_ANNOTATIONS.authority]];
  return url ? [{ identity, url, ...(authority && { authority }) }] : [];
}
