// Encrypts the Secrets of an export to a public key, and decrypts them by the private one: JWE, each Secret by itself.
import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { CompactEncrypt, compactDecrypt } from "jose";
import type { KubeObject } from "../../kube/api/object.ts";
import { Failure } from "../failure.ts";

const CONTENT = "A256GCM";
const MIN_RSA_BITS = 2048;
const HOW = "openssl genpkey -algorithm X25519 -out backup.key; openssl pkey -in backup.key -pubout -out backup.pub";

export interface Encryptor {
  encrypt(object: KubeObject): Promise<string>;
}

export interface Decryptor {
  /** An object as JSON, which nobody has parsed yet. @throws Failure when the key is another one */
  decrypt(secret: string): Promise<string>;
}

/** @throws Failure when the file holds no public key for encryption */
export async function loadEncryptor(path: string): Promise<Encryptor> {
  const pem = await readPem(path);
  if (pem.includes("PRIVATE KEY"))
    throw new Failure(`${path} is a private key: an export needs the public one alone`, {
      kind: "usage",
      next: `openssl pkey -in ${path} -pubout -out backup.pub`,
    });
  const key = parseKey(path, () => createPublicKey(pem));
  const alg = algorithmOf(path, key);
  return {
    encrypt: (object) =>
      new CompactEncrypt(Buffer.from(JSON.stringify(object))).setProtectedHeader({ alg, enc: CONTENT }).encrypt(key),
  };
}

/** @throws Failure when the file holds no private key for decryption */
export async function loadDecryptor(path: string): Promise<Decryptor> {
  const pem = await readPem(path);
  const key = parseKey(path, () => createPrivateKey(pem));
  const options = {
    keyManagementAlgorithms: [algorithmOf(path, key)],
    contentEncryptionAlgorithms: [CONTENT],
  };
  return {
    async decrypt(secret) {
      try {
        const { plaintext } = await compactDecrypt(secret, key, options);
        return Buffer.from(plaintext).toString("utf8");
      } catch (cause) {
        throw new Failure(`a Secret of the export cannot be decrypted with ${path}`, {
          next: "give the private key that belongs to the public key of the export",
          cause,
        });
      }
    },
  };
}

async function readPem(path: string): Promise<string> {
  return readFile(path, "utf8").catch((cause: unknown) => {
    throw new Failure(`${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, {
      kind: "usage",
      next: HOW,
      cause,
    });
  });
}

function parseKey(path: string, parse: () => KeyObject): KeyObject {
  try {
    return parse();
  } catch (cause) {
    throw new Failure(`${path} is no key in PEM that can be used`, { kind: "usage", next: HOW, cause });
  }
}

function algorithmOf(path: string, key: KeyObject): string {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "x25519" || type === "ec") return "ECDH-ES";
  if (type === "rsa" && (details?.modulusLength ?? 0) >= MIN_RSA_BITS) return "RSA-OAEP-256";
  throw new Failure(
    `${path} is a key of type ${type ?? "unknown"}: X25519, EC and RSA of ${MIN_RSA_BITS} bits are taken`,
    {
      kind: "usage",
      next: HOW,
    },
  );
}
