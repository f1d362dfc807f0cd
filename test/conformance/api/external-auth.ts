// A webhook authorizer and an OIDC issuer on loopback, for a kube-apiserver whose rights and users are not its own alone.
import { writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { kubeconfigText } from "../../../kube/client/kubeconfig-text.ts";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";

/** Questions to the authorizer. */
export interface Attributes {
  user: string;
  verb: string;
  group: string;
  resource: string;
  namespace: string;
  name: string;
}

/** `undefined`: no opinion. */
export type Decision = "allow" | "deny" | undefined;

export interface ExternalAuth {
  /** For kube-apiserver. */
  flags: string[];
  /** The authorizer's opinion; a test sets its own. */
  decide: (asked: Attributes) => Decision;
  /** The issuer's address, and the PEM of its authority. */
  url: string;
  ca: string;
  /** A token of the issuer, signed; times in seconds since the epoch. `claims` are added. Without `expires` it has no end. */
  token(claims: {
    sub: string;
    groups?: string[];
    audience?: string;
    expires: number | undefined;
    claims?: Record<string, unknown>;
  }): Promise<string>;
  /** A new key instead of the old one. */
  rotate(): Promise<void>;
  stop(): Promise<void>;
}

const algorithm = "RS256";

/** Starts both as one TLS server and writes kube-apiserver's configuration files into `dir`. */
export async function startExternalAuth(dir: string): Promise<ExternalAuth> {
  const authority = await makeAuthority("outside");
  const { cert, key } = await issueCertificate(authority, {
    commonName: "localhost",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
  });
  let signing = await makeKey("one");
  const outside: ExternalAuth = {
    flags: [],
    decide: () => undefined,
    url: "",
    ca: authority.cert,
    async rotate() {
      signing = await makeKey("two");
    },
    token({ sub, groups = [], audience = "cupola", expires, claims = {} }) {
      const token = new SignJWT({ groups, ...claims })
        .setProtectedHeader({ alg: algorithm, kid: signing.jwk.kid })
        .setIssuer(url)
        .setSubject(sub)
        .setAudience(audience);
      return (expires === undefined ? token : token.setIssuedAt(expires - 3600).setExpirationTime(expires)).sign(
        signing.privateKey,
      );
    },
    stop: () => closed(server),
  };
  const server = createServer({ cert, key }, (request, response) => {
    void answer(request, outside, { url, jwk: signing.jwk }).then((body) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  outside.url = url;
  outside.flags = configure(dir, url, authority.cert);
  return outside;
}

async function makeKey(kid: string): Promise<{ privateKey: CryptoKey; jwk: { kid: string } }> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm);
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: "sig" } as { kid: string } };
}

const nothing = { verb: "", group: "", resource: "", namespace: "", name: "" };

async function answer(
  request: IncomingMessage,
  outside: ExternalAuth,
  issuer: { url: string; jwk: object },
): Promise<object> {
  if (request.url?.startsWith("/.well-known/"))
    return {
      issuer: issuer.url,
      jwks_uri: `${issuer.url}/keys`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [algorithm],
    };
  if (request.url === "/keys") return { keys: [issuer.jwk] };
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { spec } = JSON.parse(Buffer.concat(chunks).toString()) as {
    spec: { user: string; resourceAttributes?: Partial<Attributes> };
  };
  const opinion =
    spec.resourceAttributes && outside.decide({ ...nothing, user: spec.user, ...spec.resourceAttributes });
  return {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    status: { allowed: opinion === "allow", denied: opinion === "deny" },
  };
}

function configure(dir: string, url: string, ca: string): string[] {
  const write = (name: string, body: object | string): string => {
    const path = join(dir, name);
    writeFileSync(path, typeof body === "string" ? body : JSON.stringify(body));
    return path;
  };
  const kubeConfigFile = write(
    "authorizer.kubeconfig",
    kubeconfigText({ server: `${url}/authorize`, ca, users: [{ name: "apiserver", token: "none" }] }),
  );
  const webhook = {
    // As good as no cache: the bound under test is ours.
    authorizedTTL: "1ms",
    unauthorizedTTL: "1ms",
    timeout: "5s",
    subjectAccessReviewVersion: "v1",
    matchConditionSubjectAccessReviewVersion: "v1",
    failurePolicy: "NoOpinion",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile },
    matchConditions: [{ expression: "request.user in ['ann', 'bob', 'carl']" }],
  };
  const authorizers = [
    { type: "Webhook", name: "outside", webhook },
    { type: "RBAC", name: "rbac" },
  ];
  const jwt = [
    {
      issuer: { url, audiences: ["cupola"], certificateAuthority: ca },
      claimMappings: { username: { claim: "sub", prefix: "oidc:" }, groups: { claim: "groups", prefix: "oidc:" } },
    },
  ];
  return [
    `--authorization-config=${write("authorization.yaml", { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration", authorizers })}`,
    `--authentication-config=${write("authentication.yaml", { apiVersion: "apiserver.config.k8s.io/v1beta1", kind: "AuthenticationConfiguration", jwt })}`,
  ];
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
