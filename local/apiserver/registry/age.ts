// Durations as kubectl's tables show them.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Up to how many seconds which units are shown; one unit alone where the second is missing. */
const STEPS: { below: number; big: [number, string]; small?: [number, string] }[] = [
  { below: 2 * MINUTE, big: [1, "s"] },
  { below: 10 * MINUTE, big: [MINUTE, "m"], small: [1, "s"] },
  { below: 3 * HOUR, big: [MINUTE, "m"] },
  { below: 8 * HOUR, big: [HOUR, "h"], small: [MINUTE, "m"] },
  { below: 2 * DAY, big: [HOUR, "h"] },
  { below: 8 * DAY, big: [DAY, "d"], small: [HOUR, "h"] },
  { below: 2 * YEAR, big: [DAY, "d"] },
  { below: 8 * YEAR, big: [YEAR, "y"], small: [DAY, "d"] },
  { below: Infinity, big: [YEAR, "y"] },
];

/** `5m12s`, `3h4m`, `12d`, ... as Kubernetes' HumanDuration. */
export function humanDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < -1) return "<invalid>";
  const step = STEPS.find(({ below }) => seconds < below);
  if (!step || seconds < 0) return "0s";
  const [size, unit] = step.big;
  const rest = step.small ? Math.floor((seconds % size) / step.small[0]) : 0;
  return `${Math.floor(seconds / size)}${unit}${step.small && rest > 0 ? `${rest}${step.small[1]}` : ""}`;
}

/** How long ago an RFC 3339 time was; `<unknown>` when there is none. */
export function since(time: unknown, now: number): string {
  if (typeof time !== "string" || time === "") return "<unknown>";
  const at = Date.parse(time);
  return Number.isNaN(at) ? "<invalid>" : humanDuration(now - at);
}
