// The host key as OpenSSH reads it.
import { createHash } from "node:crypto";
import ssh2 from "ssh2";
import { expect, test } from "vitest";
import { toHostKey } from "./host-key.ts";

test("the key parses, and the fingerprint is that of its public part", () => {
  const { privateKey, fingerprint } = toHostKey(new Uint8Array(32).fill(7));
  const parsed = ssh2.utils.parseKey(privateKey);
  if (parsed instanceof Error) throw parsed;
  const [key] = [parsed].flat();
  expect(key?.type).toBe("ssh-ed25519");
  const published = createHash("sha256").update(key!.getPublicSSH()).digest("base64");
  expect([fingerprint.length, `${fingerprint}=`]).toEqual([43, published]);
  const signature = key!.sign(Buffer.from("text"));
  expect(key!.verify(Buffer.from("text"), signature as Buffer)).toBe(true);
});

test("each seed gives a key of its own", () => {
  const fingerprints = [1, 2].map((fill) => toHostKey(new Uint8Array(32).fill(fill)).fingerprint);
  expect(new Set(fingerprints).size).toBe(2);
});
