// The server that other replicas call: TLS off loopback, a token for each address.
import { timingSafeEqual } from "node:crypto";
import type { RequestListener } from "node:http";
import { isIP, type AddressInfo } from "node:net";
import { createListener } from "../../kube/server/listener.ts";
import { isLoopback } from "../../kube/server/loopback.ts";
import { startListening } from "../../kube/server/start-listening.ts";
import { issueCertificate, makeAuthority } from "../../kube/server/pki.ts";

/** Share of the process's file descriptors. A process has two of these listeners, for peers and for telemetry. */
const CONNECTION_SHARE = 0.05;

export interface PeerServer {
  url: string;
  /** The token that a URL of this server requires. */
  tokenFor(url: string): string;
  /** Authority that signed the server's certificate, PEM; absent on loopback. */
  authority?: string;
  /** Sets the handler. Requests before that get 503. */
  setHandler(handler: RequestListener): void;
  close(): Promise<void>;
}

/** Listens at any port of an address; off loopback with a certificate made for this life of the process. `tokenFor` gives the token that opens a URL, and is asked for each request, since it may change; `onError` gets the errors of connections that were not accepted. */
export async function startPeerListener(
  address: string,
  tokenFor: (url: string) => string,
  onError: (error: Error) => void,
): Promise<PeerServer> {
  let handler: RequestListener = (_request, response) => void response.writeHead(503).end();
  const tls = isLoopback(address) ? undefined : await issueServerCertificate(address);
  const own: { url?: string } = {};
  const server = createListener(
    { ...(tls && { tls: { ...tls, minVersion: "TLSv1.3" } }), share: CONNECTION_SHARE },
    (request, response) => {
      if (own.url !== undefined && hasPeerToken(request.headers.authorization, tokenFor(own.url)))
        return handler(request, response);
      response.writeHead(401, { connection: "close" }).end();
    },
  );
  await startListening(server, { port: 0, host: address }, onError);
  const { port } = server.address() as AddressInfo;
  const url = `${tls ? "https" : "http"}://${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  own.url = url;
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
