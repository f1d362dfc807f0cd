// An abort signal as a promise, for Promise.race.

/** Rejects with the signal's reason once it is aborted; never resolves. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const rejectWithReason = (): void => reject(signal.reason as Error);
    if (signal.aborted) rejectWithReason();
    else signal.addEventListener("abort", rejectWithReason, { once: true });
  });
}
