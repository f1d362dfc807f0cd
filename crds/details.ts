// How much text about a problem a status may hold: schemas have it as their bound, and writers cut to it.
export const MAX_DETAILS = 1024;

/** The text, as much of it as a status may hold. */
export function cutDetails(text: string): string {
  return text.slice(0, MAX_DETAILS);
}
