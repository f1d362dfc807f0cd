// Messages of `cup` about an API whose certificate is unknown here, and the two options that take it.
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueCertificate, makeAuthority, type KeyPair } from "../../kube/server/pki.ts";
import { apiClient } from "./client.ts";
import { toUnreachable } from "./unreachable.ts";

let authority: KeyPair;
let server: Server;
let base: string;

beforeAll(async () => {
  authority = await makeAuthority("cf authority");
  const { cert, key } = await issueCertificate(authority, { commonName: "cf", ipAddresses: ["127.0.0.1"] });
  server = createServer({ cert, key }, (request, response) => {
    if (request.url === "/moved") response.writeHead(308, { location: "/v3" }).end();
    else response.end('{"name":"admin"}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test("a certificate that is not trusted is told, with both next steps", async () => {
  const failure = await apiClient(base, "bearer x")
    .request("GET", "/v3")
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({
    kind: "unreachable",
    message: `the certificate of ${base} is not trusted: its authority is not known here`,
  });
  expect((failure as { next: string }).next).toContain(`cup login --api ${base} --ca FILE`);
  expect((failure as { next: string }).next).toContain("--skip-ssl-validation");
});

test.each(["/v3", "/moved"])("its authority, or any certificate, is taken for %s", async (path) => {
  for (const trust of [{ ca: authority.cert }, { any: true }])
    expect(await apiClient(base, "bearer x", { trust }).request("GET", path)).toEqual({ name: "admin" });
});

test.each([
  ["https://cf.test", "ERR_TLS_CERT_ALTNAME_INVALID", "is not trusted: it is for another name", "--ca FILE"],
  ["https://cf.test", "ENOTFOUND", "does not answer: its name is not known here", "cup login --api URL"],
  ["http://localhost:8080", "ECONNREFUSED", "does not answer: nothing listens there", "cup local status"],
  ["http://api.cf.localhost:8080", "UND", "does not answer", "cup local status"],
])("%s, %s: %s", (base, code, message, next) => {
  const failure = toUnreachable(base, Object.assign(new AggregateError([{ code }]), {}));
  expect(failure.message).toMatch(new RegExp(`${message}$`));
  expect(failure.next).toContain(next);
});
