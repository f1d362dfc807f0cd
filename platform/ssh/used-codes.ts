// Remembers used codes until they expire, so that each opens the proxy once.

/** More than a busy platform uses in a minute. When it is full, further codes are refused rather than forgotten. */
const MAX_CODES = 100_000;

export interface UsedCodes {
  /** False for a code that was used, or that was made before this process could remember its use. Times in seconds since the epoch. */
  use(code: { id: string; madeAt: number; expiresAt: number }): boolean;
}

export function createUsedCodes(now: () => Date): UsedCodes {
  const seconds = (): number => Math.floor(now().getTime() / 1000);
  const startedAt = seconds();
  const expiries = new Map<string, number>();
  return {
    use({ id, madeAt, expiresAt }) {
      // In order of use, and so nearly of expiry.
      for (const [known, expiry] of expiries) {
        if (expiry > seconds()) break;
        expiries.delete(known);
      }
      if (madeAt < startedAt || expiries.has(id) || expiries.size >= MAX_CODES) return false;
      expiries.set(id, Math.max(expiresAt, seconds() + 1));
      return true;
    },
  };
}
