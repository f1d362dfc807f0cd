// Parses the Authorization header that `cf` and other clients send. No I/O; nothing here is logged.
import { CFError } from "../http/errors.ts";

/** A credential: a bearer token, or a client certificate with its key (PEM), as `cf` sends it in Kubernetes mode. */
export type Credential = { kind: "token"; token: string } | { kind: "certificate"; cert: string; key: string };

const maxLength = 16 * 1024;
const certificateBlock = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/;
const keyBlock = /-----BEGIN (?:RSA |EC )?PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END (?:RSA |EC )?PRIVATE KEY-----/;

/** @throws CFError NotAuthenticated without a header, InvalidAuthToken for unsupported schemes such as Basic. */
export function parseAuthorization(header: string | undefined): Credential {
  if (!header?.trim()) throw new CFError("NotAuthenticated");
  const [scheme = "", value = ""] = header.trim().split(/\s+/, 2);
  if (value === "" || value.length > maxLength) throw new CFError("InvalidAuthToken");
  if (scheme.toLowerCase() === "bearer") return { kind: "token", token: value };
  if (scheme.toLowerCase() === "clientcert") return certificate(value);
  throw new CFError("InvalidAuthToken");
}

function certificate(value: string): Credential {
  const pem = Buffer.from(value, "base64").toString("utf8");
  const cert = certificateBlock.exec(pem)?.[0];
  const key = keyBlock.exec(pem)?.[0];
  if (!cert || !key) throw new CFError("InvalidAuthToken");
  return { kind: "certificate", cert: `${cert}\n`, key: `${key}\n` };
}
