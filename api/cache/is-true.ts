// A condition over cached reads, checked outside of any request: what it throws would end the process.

/** False when the condition throws, as a read of a parked watch does: whoever waited reads again and gets the error. */
export function isTrue(condition: () => boolean): boolean {
  try {
    return condition();
  } catch {
    return false;
  }
}
