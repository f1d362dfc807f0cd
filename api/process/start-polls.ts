// Which reads of a starting process are held until it runs: those that follow a change, and those of a client that polls. Whoever looks once, as `cf app` does,
// gets an answer at once, also for an app that takes minutes to start or never does.

/** A start this young is being waited for: by `cf push`, `cf start` and the like, whose first read follows it. */
export const FRESH_MS = 10_000;
/** A read so long after the end of another is a poll: `cf` waits 3 s. Somebody who repeats `cf app` is sooner or later. */
export const POLL_MS = { from: 2_500, to: 5_000 } as const;
/** Bound on remembered processes; the oldest is forgotten. */
const MAX_REMEMBERED = 1_000;

export interface StartPolls {
  /** Is a read at `now` one of a client that waits? `changedAt`: when a client last changed the app or the process. Milliseconds. */
  isWait(process: string, changedAt: number, now: number): boolean;
  /** Call it when a read ends and the process is starting still. */
  answered(process: string, now: number): void;
}

export function createStartPolls(): StartPolls {
  const answers = new Map<string, number>();
  return {
    isWait(process, changedAt, now) {
      const pause = now - (answers.get(process) ?? -Infinity);
      return now - changedAt < FRESH_MS || (pause >= POLL_MS.from && pause < POLL_MS.to);
    },
    answered(process, now) {
      answers.delete(process);
      answers.set(process, now);
      const [oldest] = answers.keys();
      if (answers.size > MAX_REMEMBERED && oldest !== undefined) answers.delete(oldest);
    },
  };
}
