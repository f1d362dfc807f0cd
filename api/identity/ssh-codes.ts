// Codes of `cf ssh`: random texts that open the SSH proxy once, within a minute, and nothing else. Who asked is kept in an SSHCode, sealed with the code, so a code is short whatever groups a user has.
import { createHash, randomBytes } from "node:crypto";
import { CompactEncrypt, compactDecrypt } from "jose";
import { z } from "zod";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { MAX_SEALED, SSHCode } from "../../crds/ssh-code/ssh-code.ts";
import { deriveSSHKey, SSH_KEY } from "../../crds/ssh-key.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { Caller } from "./caller.ts";

const LIFETIME_MS = 60_000;
const CODE_BYTES = 32;
const CODE = /^[\w-]{43}$/;
/** Sealed into the header, so that nothing else that is sealed passes as a code. */
const TYPE = "cupola-ssh-code";
/** For each request to the API server. */
const DEADLINE_MS = 10_000;

const content = z.object({
  name: z.string(),
  groups: z.array(z.string()),
  uid: z.string().optional(),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});

/** The caller that asked for a code. */
export type SSHCaller = z.output<typeof content>;

export interface SSHCodes {
  /** Resolves to undefined for an identity that is too large to keep. @throws KubeError */
  make(who: Pick<Caller, "name" | "groups" | "uid" | "extra">): Promise<string | undefined>;
  /** Undefined for a code that was used, is expired, of another installation, or none. Of several calls with one code, in whichever process, one succeeds. @throws KubeError */
  redeem(code: string): Promise<SSHCaller | undefined>;
  /** Deletes codes that expired unused. @throws KubeError */
  removeExpired(): Promise<void>;
}

export function createSSHCodes({ client, now }: { client: KubeClient; now: () => Date }): SSHCodes {
  const sealingKey = async (code: string): Promise<Uint8Array> =>
    deriveSSHKey(await SSH_KEY.get(client), "codes", code);
  const isExpired = ({ spec }: SSHCode): boolean => !(Date.parse(spec.expiresAt) > now().getTime());
  return {
    async make({ name, groups, uid, extra }) {
      const code = randomBytes(CODE_BYTES).toString("base64url");
      const sealed = await seal(JSON.stringify({ name, groups, uid, extra }), await sealingKey(code));
      if (sealed.length > MAX_SEALED) return undefined;
      const expiresAt = new Date(now().getTime() + LIFETIME_MS).toISOString();
      const draft = { metadata: toKey(code), spec: { sealed, expiresAt } };
      await client.create(SSHCode, draft, { deadlineMs: DEADLINE_MS });
      return code;
    },
    async redeem(code) {
      if (!CODE.test(code)) return undefined;
      const found = await client.find(SSHCode, toKey(code), { deadlineMs: DEADLINE_MS });
      if (!found || isExpired(found)) return undefined;
      const who = await open(found.spec.sealed, await sealingKey(code));
      return who && (await remove(client, found)) ? who : undefined;
    },
    async removeExpired() {
      for await (const { items } of client.pages(SSHCode, { namespace: SYSTEM_NAMESPACE, deadlineMs: DEADLINE_MS }))
        for (const expired of items.filter(isExpired)) await remove(client, expired);
    },
  };
}

function toKey(code: string): { namespace: string; name: string } {
  return { namespace: SYSTEM_NAMESPACE, name: `code-${createHash("sha256").update(code).digest("hex").slice(0, 40)}` };
}

/** False when somebody else has deleted it. */
async function remove(client: KubeClient, { metadata: { name, uid = "" } }: SSHCode): Promise<boolean> {
  try {
    const preconditions = { uid };
    await client.delete(SSHCode, { namespace: SYSTEM_NAMESPACE, name }, { preconditions, deadlineMs: DEADLINE_MS });
    return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}

function seal(text: string, key: Uint8Array): Promise<string> {
  return new CompactEncrypt(Buffer.from(text))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", typ: TYPE })
    .encrypt(key);
}

async function open(sealed: string, key: Uint8Array): Promise<SSHCaller | undefined> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(sealed, key, {
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    if (protectedHeader["typ"] !== TYPE) return undefined;
    return content.parse(JSON.parse(Buffer.from(plaintext).toString("utf8")));
  } catch {
    return undefined; // Details would only help an attacker.
  }
}
