// Blank values of a body, as CF defines them.

/** Whether a value is missing, null or empty. */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
