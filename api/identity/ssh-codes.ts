// Codes of `cf ssh`: who asks, sealed for a minute. They open the SSH proxy and nothing else, and fit a password prompt of OpenSSH (1023 characters).
import { randomUUID } from "node:crypto";
import { CompactEncrypt, compactDecrypt } from "jose";
import { z } from "zod";
import { deriveSSHKey, SSH_KEY } from "../../crds/ssh-key.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Caller } from "./caller.ts";

const LIFETIME_SECONDS = 60;
/** Sealed into the header, so that nothing else that is sealed passes as a code. */
const TYPE = "cupola-ssh-code";
/** Longer texts are not opened. */
const MAX_CODE = 16 * 1024;

const content = z.object({
  id: z.string(),
  /** Seconds since the epoch. */
  madeAt: z.int(),
  name: z.string(),
  groups: z.array(z.string()),
  uid: z.string().optional(),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});

/** `id`: differs from code to code. Times in seconds since the epoch. */
export type OpenedSSHCode = z.output<typeof content> & { expiresAt: number };

export interface SSHCodes {
  seal(who: Pick<Caller, "name" | "groups" | "uid" | "extra">): Promise<string>;
  /** Undefined for a code that is expired, changed, of another installation, or none. @throws KubeError when the key cannot be read */
  open(code: string): Promise<OpenedSSHCode | undefined>;
}

export function createSSHCodes({ client, now }: { client: KubeClient; now: () => Date }): SSHCodes {
  const key = async (): Promise<Uint8Array> => deriveSSHKey(await SSH_KEY.get(client), "codes");
  const seconds = (): number => Math.floor(now().getTime() / 1000);
  return {
    async seal({ name, groups, uid, extra }) {
      const text = JSON.stringify({ id: randomUUID(), madeAt: seconds(), name, groups, uid, extra });
      return new CompactEncrypt(Buffer.from(text))
        .setProtectedHeader({ alg: "dir", enc: "A256GCM", typ: TYPE })
        .encrypt(await key());
    },
    async open(code) {
      if (code.length > MAX_CODE) return undefined;
      const opened = await decrypt(code, await key());
      const expiresAt = (opened?.madeAt ?? 0) + LIFETIME_SECONDS;
      return opened && seconds() < expiresAt ? { ...opened, expiresAt } : undefined;
    },
  };
}

async function decrypt(code: string, key: Uint8Array): Promise<z.output<typeof content> | undefined> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(code, key, {
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    if (protectedHeader["typ"] !== TYPE) return undefined;
    return content.parse(JSON.parse(Buffer.from(plaintext).toString("utf8")));
  } catch {
    return undefined; // Details would only help an attacker.
  }
}
