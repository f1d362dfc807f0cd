// How long a binding's credentials are good, in its broker's words. Pure.

export interface Lifetime {
  expiresAt?: string;
  renewBefore?: string;
}

/** Reads the metadata in a broker's answer. A member that is no time is left out. */
export function toLifetime(metadata: unknown): Lifetime {
  const { expires_at, renew_before } = (metadata ?? {}) as Record<string, unknown>;
  const [expiresAt, renewBefore] = [toTime(expires_at), toTime(renew_before)];
  return { ...(expiresAt !== undefined && { expiresAt }), ...(renewBefore !== undefined && { renewBefore }) };
}

function toTime(value: unknown): string | undefined {
  const at = typeof value === "string" && /^\d{4}-\d{2}-\d{2}T/.test(value) ? new Date(value) : undefined;
  return at && Number.isFinite(at.getTime()) ? at.toISOString() : undefined;
}

/** The state of credentials at a time, and when the next one begins. */
export interface LifetimeState {
  state: "good" | "due" | "expired";
  nextAt?: Date;
}

export function lifetimeAt({ expiresAt, renewBefore }: Lifetime, now: Date): LifetimeState {
  const isPast = (time: string | undefined): boolean => time !== undefined && Date.parse(time) <= now.getTime();
  if (isPast(expiresAt)) return { state: "expired" };
  const state = isPast(renewBefore) ? "due" : "good";
  const next = [expiresAt, renewBefore].flatMap((time) =>
    time === undefined || isPast(time) ? [] : [Date.parse(time)],
  );
  return next.length === 0 ? { state } : { state, nextAt: new Date(Math.min(...next)) };
}
