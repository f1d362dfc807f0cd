// The part of the API that endpoints about `cf ssh` use.
import type { SSHCodes } from "../identity/ssh-codes.ts";

export interface SSHService {
  codes: SSHCodes;
  /** Where clients reach the proxy, `host:port`. */
  address: string;
  /** SHA-256 of its host key in base64 without padding, as OpenSSH shows it. */
  fingerprint(): Promise<string>;
}
