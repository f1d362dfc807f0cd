// Replicas of several versions run beside each other during an upgrade. A process uses what an older one would undo only when every live one knows it. Pure.

/** Each feature, and the first release that knows it. */
export const SKEW_FEATURES = {
  /** An LRP is made with its runner's finalizer; controllers from before take it off with their next apply. */
  "finalizer-at-creation": "0.1.0",
} as const;
export type SkewFeature = keyof typeof SKEW_FEATURES;

/** A release: three numbers, and not a preview of one. */
const RELEASE = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/;

/** Its three numbers; undefined for any other text. */
export function parseRelease(text: string): [number, number, number] | undefined {
  const [, major, minor, patch] = RELEASE.exec(text) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

/** Whether a release is `since` or a later one. Any other text is no release, and so is older than all. */
export function isRelease(version: string, since: string): boolean {
  const [has, wants] = [parseRelease(version), parseRelease(since)];
  if (!has || !wants) return false;
  const at = has.findIndex((number, index) => number !== wants[index]);
  return at < 0 || (has[at] ?? 0) > (wants[at] ?? 0);
}

/** Whether the live replicas all know a feature. */
export type IsKnownToAll = (feature: SkewFeature) => boolean;

/** Where no other process can be: tests, and one process alone. */
export const KNOWN_TO_ALL: IsKnownToAll = () => true;
