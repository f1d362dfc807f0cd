// How old a Lease of another machine is, by this machine's clock wherever possible: clocks differ.

/**
 * A function of the Lease's renewTime that answers in milliseconds. It counts from the moment at which this process saw the time change; the first time is
 * believed as it is. Infinity without a Lease.
 */
export function toLeaseAge(now: () => Date): (renewTime: string | undefined) => number {
  let seen: { renewTime: string; at: number } | undefined;
  return (renewTime) => {
    if (renewTime === undefined) return Infinity;
    const at = now().getTime();
    if (seen?.renewTime !== renewTime) seen = { renewTime, at: seen ? at : Math.min(at, Date.parse(renewTime)) };
    return at - seen.at;
  };
}
