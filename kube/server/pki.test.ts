// Node's verifier accepts the certificates' chain, names and subject.
import { X509Certificate, createPrivateKey } from "node:crypto";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { issueCertificate, makeAuthority } from "./pki.ts";

test("an issued certificate is signed by its authority and carries its names", async () => {
  const authority = await makeAuthority("test-ca");
  const pair = await issueCertificate(authority, {
    commonName: "server",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
  });
  const cert = new X509Certificate(pair.cert);
  expect(cert.verify(new X509Certificate(authority.cert).publicKey)).toBe(true);
  expect(cert.checkPrivateKey(createPrivateKey(pair.key))).toBe(true);
  expect(cert.subjectAltName).toBe("DNS:localhost, IP Address:127.0.0.1");
  expect(new X509Certificate(authority.cert).ca).toBe(true);
  expect(cert.ca).toBe(false);
});

test("a certificate with a past validity is expired", async () => {
  const authority = await makeAuthority("test-ca");
  const pair = await issueCertificate(
    authority,
    { commonName: "late" },
    { from: new Date("2020-01-01T00:00:00Z"), days: 1 },
  );
  expect(new X509Certificate(pair.cert).validToDate.toISOString()).toBe("2020-01-02T00:00:00.000Z");
});

test("a server that requests a client certificate sees user and groups, commas included", async () => {
  const authority = await makeAuthority("test-ca");
  const serverPair = await issueCertificate(authority, { commonName: "server", ipAddresses: ["127.0.0.1"] });
  const client = await issueCertificate(authority, {
    commonName: "alice, of acme",
    organizations: ["devs", "ops+more"],
  });
  const server = createServer(
    { ...serverPair, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
    (req, res) => {
      res.end(JSON.stringify((req.socket as TLSSocket).getPeerCertificate().subject));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const body = await new Promise<string>((resolve, reject) => {
      const call = request(
        {
          host: "127.0.0.1",
          port: (server.address() as AddressInfo).port,
          ca: authority.cert,
          ...client,
          agent: false,
        },
        (res) => {
          let text = "";
          res.on("data", (chunk: Buffer) => (text += chunk.toString())).on("end", () => resolve(text));
        },
      );
      call.on("error", reject).end();
    });
    expect(JSON.parse(body)).toMatchObject({ CN: "alice, of acme", O: ["devs", "ops+more"] });
  } finally {
    server.close();
  }
});
