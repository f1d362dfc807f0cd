// Which addresses only this machine can reach.

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/** @param host a name or an address; IPv6 without brackets */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}
