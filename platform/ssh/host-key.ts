// The host key of the SSH proxy, an Ed25519 key: as OpenSSH stores it, and its fingerprint.
import { createPrivateKey, createPublicKey, hash } from "node:crypto";
import { deriveSSHKey, SSH_KEY } from "../../crds/ssh-key.ts";
import type { KubeClient } from "../../kube/client/client.ts";

const TYPE = "ssh-ed25519";
/** In PKCS #8, the 32 bytes of an Ed25519 key follow these. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const BLOCK = 8;

export interface HostKey {
  /** In the format of `ssh-keygen`. */
  privateKey: string;
  /** SHA-256 in base64 without padding, 43 characters. */
  fingerprint: string;
}

/** @throws KubeError; Error when the Secret holds no key */
export async function readHostKey(client: KubeClient): Promise<HostKey> {
  return toHostKey(deriveSSHKey(await SSH_KEY.get(client), "host key"));
}

/** Pure. @param seed the 32 bytes that Ed25519 starts from */
export function toHostKey(seed: Uint8Array): HostKey {
  const signing = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: "der", type: "pkcs8" });
  const point = createPublicKey(signing).export({ format: "der", type: "spki" }).subarray(-32);
  const published = Buffer.concat([field(TYPE), field(point)]);
  return {
    privateKey: toOpenSSH(published, Buffer.concat([field(TYPE), field(point), field([seed, point])])),
    fingerprint: hash("sha256", published, "base64").replace(/=+$/, ""),
  };
}

/** PROTOCOL.key of OpenSSH: no cipher, one key. The two equal numbers let a reader see that it deciphered rightly. */
function toOpenSSH(published: Buffer, secret: Buffer): string {
  const check = Buffer.alloc(8);
  const body = Buffer.concat([check, secret, field("")]);
  const padding = Buffer.from(Array.from({ length: (BLOCK - (body.length % BLOCK)) % BLOCK }, (_, at) => at + 1));
  const whole = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    ...[field("none"), field("none"), field("")],
    number(1),
    ...[field(published), field([body, padding])],
  ]).toString("base64");
  const lines = whole.match(/.{1,70}/g) ?? [];
  return ["-----BEGIN OPENSSH PRIVATE KEY-----", ...lines, "-----END OPENSSH PRIVATE KEY-----", ""].join("\n");
}

function field(content: string | Uint8Array | readonly Uint8Array[]): Buffer {
  const bytes = Array.isArray(content) ? Buffer.concat(content) : Buffer.from(content as Uint8Array);
  return Buffer.concat([number(bytes.length), bytes]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
