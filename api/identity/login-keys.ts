// The keys of login tokens: one pair per installation, in a Secret of the system namespace that the first replica creates, and the pair before it.
import { createPrivateKey, createPublicKey, generateKeyPair, hash, type KeyObject, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { z } from "zod";
import { type Rotated, RotatedSecret } from "../../crds/rotated-secret.ts";

/** Key ids of login tokens begin so: other tokens are left to Kubernetes. */
export const LOGIN_KEY_ID = "cupola-login-";
const SEALING_BYTES = 32;
const MODULUS_BITS = 2048;

/** A signing key and a sealing key that were made together. */
export interface LoginKeyPair {
  id: string;
  /** Private, RSA. */
  signing: KeyObject;
  /** The public part of `signing`. */
  verifying: KeyObject;
  sealing: Uint8Array;
}

/** New tokens use `current`; tokens of `previous` stay valid. */
export type LoginKeys = Rotated<LoginKeyPair>;

const storedPair = z.object({
  /** PEM. */
  signing: z.string(),
  sealing: z.string().refine((text) => Buffer.from(text, "base64url").length === SEALING_BYTES),
});

export const LOGIN_KEYS = new RotatedSecret<LoginKeyPair>({
  secretName: "cupola-login-key",
  what: "keys of logins",
  create: createPair,
  parse: parsePair,
});

function parsePair(text: string): LoginKeyPair {
  const stored = storedPair.parse(JSON.parse(text));
  const signing = createPrivateKey(stored.signing);
  const verifying = createPublicKey(signing);
  const id = LOGIN_KEY_ID + hash("sha256", verifying.export({ format: "der", type: "spki" }), "base64url").slice(0, 16);
  return { id, signing, verifying, sealing: Buffer.from(stored.sealing, "base64url") };
}

async function createPair(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: MODULUS_BITS });
  return JSON.stringify({
    signing: privateKey.export({ format: "pem", type: "pkcs8" }),
    sealing: randomBytes(SEALING_BYTES).toString("base64url"),
  });
}
