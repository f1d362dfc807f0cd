// Keys that people have, and those that do not fit.
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadDecryptor, loadEncryptor } from "./secret-key.ts";

const folder = mkdtempSync(join(tmpdir(), "cupola-keys-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PEM = {
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
} as const;
const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data: { password: "aGlkZGVu" } };
let files = 0;

function save(...texts: string[]): string[] {
  return texts.map((text) => {
    const path = join(folder, `key-${(files += 1)}`);
    writeFileSync(path, text);
    return path;
  });
}

const PAIRS = {
  x25519: () => generateKeyPairSync("x25519", PEM),
  ec: () => generateKeyPairSync("ec", { namedCurve: "P-256", ...PEM }),
  rsa: () => generateKeyPairSync("rsa", { modulusLength: 2048, ...PEM }),
  ed25519: () => generateKeyPairSync("ed25519", PEM),
  short: () => generateKeyPairSync("rsa", { modulusLength: 1024, ...PEM }),
};

test.each(["x25519", "ec", "rsa"] as const)("%s: only the private key reads", async (type) => {
  const { publicKey, privateKey } = PAIRS[type]();
  const [pub = "", key = "", other = ""] = save(publicKey, privateKey, PAIRS[type]().privateKey);
  const text = await (await loadEncryptor(pub)).encrypt(secret);
  expect(text).not.toContain("hidden");
  expect(JSON.parse(await (await loadDecryptor(key)).decrypt(text))).toEqual(secret);
  await expect((await loadDecryptor(other)).decrypt(text)).rejects.toThrow(/cannot be decrypted/);
});

test("other keys are refused with the next step", async () => {
  const [pub = "", short = "", key = "", none = ""] = save(
    PAIRS.ed25519().publicKey,
    PAIRS.short().publicKey,
    PAIRS.x25519().privateKey,
    "hello",
  );
  await expect(loadEncryptor(pub)).rejects.toThrow(/type ed25519/);
  await expect(loadEncryptor(short)).rejects.toThrow(/2048 bits/);
  await expect(loadEncryptor(key)).rejects.toThrow(/private key/);
  await expect(loadEncryptor(none)).rejects.toThrow(/no key in PEM/);
  await expect(loadEncryptor(join(folder, "missing"))).rejects.toThrow(/cannot be read/);
});
