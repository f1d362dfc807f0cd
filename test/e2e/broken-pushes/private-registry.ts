// An npm registry whose certificate nobody knows, as behind a company's proxy. It has one package, tiny@1.0.0.
import { createServer } from "node:https";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";

export interface PrivateRegistry {
  port: number;
  /** The certificate of its authority, as PEM. */
  authority: string;
  close(): void;
}

export async function startPrivateRegistry(): Promise<PrivateRegistry> {
  const authority = await makeAuthority("Company Proxy");
  const pair = await issueCertificate(
    authority,
    { commonName: "localhost", ipAddresses: ["127.0.0.1"] },
    { usage: "server" },
  );
  const tarball = await packTiny();
  const server = createServer(pair, (request, response) => {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const version = { name: "tiny", version: "1.0.0", dist: { tarball: `${url}/tiny.tgz` } };
    if (request.url === "/tiny.tgz") response.end(tarball);
    else if (request.url === "/tiny")
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ name: "tiny", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } }));
    else response.writeHead(404).end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    authority: authority.cert,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function packTiny(): Promise<Buffer> {
  const tar = pack();
  tar.entry({ name: "package/package.json" }, '{ "name": "tiny", "version": "1.0.0" }');
  tar.finalize();
  return buffer(tar.pipe(createGzip()));
}
