// The key of `cf ssh`: one per installation. The host key of the proxy and the keys of the codes are derived from it.
import { hkdfSync } from "node:crypto";
import { InstallationKey } from "./installation-key.ts";

export const SSH_KEY = new InstallationKey("cupola-ssh-key");

/** 32 bytes for one of the uses, and one code of it. A key of one use says nothing about the other. */
export function deriveSSHKey(key: Uint8Array, use: "host key" | "codes", code = ""): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, code, `cupola ssh ${use}`, 32));
}
