// Compares resourceVersions, which are decimal numbers that grow with every write.

/** Whether `current` is `wanted` or newer; false when either is not a decimal number. */
export function hasReached(current: string, wanted: string): boolean {
  return /^\d+$/.test(current) && /^\d+$/.test(wanted) && BigInt(current) >= BigInt(wanted);
}
