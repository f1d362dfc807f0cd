// A token service for a real registry: it signs what was asked for, for one user, and fails on request.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { importPKCS8, SignJWT } from "jose";
import { makeAuthority } from "../../../kube/server/pki.ts";
import { REGISTRY_USER, type RegistryOptions } from "../../cluster/registry.ts";

export interface TokenService {
  /** Settings of the registry. */
  registryOptions: Required<RegistryOptions>;
  /** Scopes of each token that was asked for. */
  asked: string[][];
  /** Answers so, instead of with a token; set for as long as it should last. */
  fault: { status: number; body?: string } | undefined;
  /** Seconds that tokens hold, as the answer and the token say; apart, so that a registry can refuse what the answer calls good. */
  life: { stated: number; real: number };
  stop(): Promise<void>;
}

const SERVICE = "registry";
const ISSUER = "cupola-tests";

/** Listens on any port of 127.0.0.1. Takes the registry's user by Basic, or the refresh token `refresh` by a form. */
export async function startTokenService(): Promise<TokenService> {
  const authority = await makeAuthority(ISSUER);
  const key = await importPKCS8(authority.key, "ES256");
  const certificate = authority.cert.replace(/-----[A-Z ]+-----|\s/g, "");
  const server = createServer((request, response) => {
    void (async () => {
      let form = "";
      for await (const chunk of request) form += String(chunk);
      const asked = new URLSearchParams(
        request.method === "POST" ? form : new URL(request.url ?? "", "http://x").search,
      );
      const basic = `Basic ${Buffer.from(`${REGISTRY_USER.username}:${REGISTRY_USER.password}`).toString("base64")}`;
      const isUser = request.headers.authorization === basic || asked.get("refresh_token") === "refresh";
      const scopes = asked
        .getAll("scope")
        .flatMap((scope) => scope.split(" "))
        .filter(Boolean);
      if (service.fault) return response.writeHead(service.fault.status).end(service.fault.body);
      if (!isUser || asked.get("service") !== SERVICE) return response.writeHead(401).end("no");
      service.asked.push(scopes);
      const token = await sign(scopes, service.life.real);
      return response.end(JSON.stringify({ token, expires_in: service.life.stated }));
    })();
  });
  const sign = (scopes: readonly string[], seconds: number) =>
    new SignJWT({
      access: scopes.map((scope) => {
        const [type, name, actions = ""] = scope.split(":");
        return { type, name, actions: actions.split(",") };
      }),
    })
      .setProtectedHeader({ alg: "ES256", typ: "JWT", x5c: [certificate] })
      .setIssuer(ISSUER)
      .setSubject(REGISTRY_USER.username)
      .setAudience(SERVICE)
      .setJti(randomUUID())
      .setIssuedAt()
      .setNotBefore("-1 minute")
      .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
      .sign(key);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const realm = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  const service: TokenService = {
    registryOptions: { token: { realm, service: SERVICE, issuer: ISSUER, certificates: authority.cert } },
    asked: [],
    fault: undefined,
    life: { stated: 300, real: 300 },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return service;
}
