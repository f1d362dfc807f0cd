// Codes of `cf ssh`: they say who asked, and other texts open nothing.
import { CompactEncrypt } from "jose";
import { expect, test } from "vitest";
import { deriveSSHKey } from "../../crds/ssh-key.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createSSHCodes } from "./ssh-codes.ts";

const keyOf = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const installation = (key: Uint8Array): KubeClient =>
  ({ find: () => Promise.resolve({ data: { key: Buffer.from(key).toString("base64") } }) }) as unknown as KubeClient;
const ann = { name: "ann", groups: ["system:authenticated"] };

test("a code says who asked, for a minute, and fits a prompt of OpenSSH", async () => {
  let time = 1_000_000;
  const codes = createSSHCodes({ client: installation(keyOf(1)), now: () => new Date(time) });
  const account = "system:serviceaccount:a-namespace-of-a-team:an-account-of-a-pipeline";
  const groups = ["system:serviceaccounts", "system:serviceaccounts:a-namespace-of-a-team", "system:authenticated"];
  const code = await codes.seal({ name: account, groups, uid: "1f3a0e1c-52f0-4a57-9a4b-6c4b1ce6a3b2" });
  expect(code.length).toBeLessThan(1023);
  expect(code).not.toContain(account);
  expect(await codes.open(code)).toMatchObject({ name: account, groups, madeAt: 1000, expiresAt: 1060 });
  time += 60_000;
  expect(await codes.open(code)).toBeUndefined();
});

test("two codes of one user differ", async () => {
  const codes = createSSHCodes({ client: installation(keyOf(1)), now: () => new Date() });
  const opened = await Promise.all([codes.seal(ann), codes.seal(ann)].map(async (code) => codes.open(await code)));
  expect(new Set(opened.map((one) => one?.id)).size).toBe(2);
});

test("a changed code, one of another installation, and other sealed texts open nothing", async () => {
  const now = (): Date => new Date();
  const codes = createSSHCodes({ client: installation(keyOf(1)), now });
  const code = await codes.seal(ann);
  const other = await createSSHCodes({ client: installation(keyOf(2)), now }).seal(ann);
  const text = Buffer.from(JSON.stringify({ id: "x", madeAt: Math.floor(Date.now() / 1000), ...ann }));
  const untyped = await new CompactEncrypt(text)
    .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
    .encrypt(deriveSSHKey(keyOf(1), "codes"));
  const flipped = code.slice(0, -3) + (code.at(-3) === "A" ? "B" : "A") + code.slice(-2);
  for (const bad of [other, untyped, flipped, "", "a.b.c.d.e", "x".repeat(20_000)])
    expect(await codes.open(bad)).toBeUndefined();
});
