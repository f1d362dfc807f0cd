// Certificates in the state folder at the next start.
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeAuthority } from "../../kube/server/pki.ts";
import { openCertificates } from "./certificates.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "certificates-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe("certificates of the server", () => {
  test("are kept from start to start", async () => {
    const first = await openCertificates(dir, ["localhost", "127.0.0.1"]);
    const second = await openCertificates(dir, ["localhost", "127.0.0.1"]);
    expect(second.authority.cert).toBe(first.authority.cert);
    expect(second.server).toEqual(first.server);
  });

  test("another name needs another certificate of the same authority", async () => {
    const first = await openCertificates(dir, ["localhost"]);
    const second = await openCertificates(dir, ["localhost", "::1", "kubernetes.default.svc"]);
    expect(second.authority.cert).toBe(first.authority.cert);
    expect(second.server.cert).not.toBe(first.server.cert);
    expect(new X509Certificate(second.server.cert).checkIP("::1")).toBe("::1");
  });

  test("a key that is not the certificate's is made anew, not served", async () => {
    const first = await openCertificates(dir, ["localhost"]);
    writeFileSync(join(dir, "server.key"), (await makeAuthority("other")).key);
    const second = await openCertificates(dir, ["localhost"]);
    expect(second.server.cert).not.toBe(first.server.cert);
    expect(second.authority.cert).toBe(first.authority.cert);
  });

  test.each(["ca.key", "ca.crt", "server.key", "server.crt"])(
    "a damaged %s is named with the step; without it there is a new one",
    async (name) => {
      await openCertificates(dir, ["localhost"]);
      writeFileSync(join(dir, name), "damaged");
      await expect(openCertificates(dir, ["localhost"])).rejects.toThrow(
        `${join(dir, name)} is damaged. Remove it and start again: a new one is made`,
      );
      rmSync(join(dir, name));
      expect((await openCertificates(dir, ["localhost"])).server.cert).toContain("BEGIN CERTIFICATE");
    },
  );

  test("a client's certificate is no server's", async () => {
    const { authority, server } = await openCertificates(dir, ["localhost"]);
    const client = new X509Certificate((await authority.issueClient("alice", ["devs"])).cert);
    expect(client.subject).toBe("O=devs\nCN=alice");
    expect(client.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(new X509Certificate(server.cert).keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  });
});
