// In a process of its own, since what counts is which of Node's modules is loaded first.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const SCRIPT = `
const { certificateReader } = await import("./local/apiserver/auth/client-certificates.ts");
const { issueCertificate, makeAuthority } = await import("./kube/server/pki.ts");
const authority = await makeAuthority("test");
const { cert } = await issueCertificate(authority, { commonName: "ada", organizations: ["dev"] }, { usage: "client" });
const der = Buffer.from(cert.replace(/-----[^-]+-----/g, ""), "base64");
const { name, groups } = certificateReader(authority.cert, Date.now)(der);
const { createSecureContext } = await import("node:tls");
console.log(name, groups.join(), typeof createSecureContext);
`;

it("leaves TLS usable in a process that has read a certificate first", async () => {
  const root = new URL("../../..", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", SCRIPT], {
    cwd: root,
    timeout: 30_000,
  });
  expect(stdout.trim()).toBe("ada dev function");
});
