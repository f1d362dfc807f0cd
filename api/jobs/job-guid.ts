// A job's GUID says what is being done to which object, when it was asked for, and, for what is done already, how it ended. Nothing is stored.

/** Operations that jobs stand for, with the kind whose going away completes them (undefined: the outcome is in the GUID). */
export const operations = {
  "app.delete": "App",
  "organization.delete": "Org",
  "space.delete": "Space",
  "route.delete": "Route",
  "domain.delete": "Domain",
  "package.delete": "Package",
  "droplet.delete": "Droplet",
  "buildpack.delete": "Buildpack",
  "role.delete": undefined,
  "user.delete": undefined,
  "droplet.upload": undefined,
  "space.apply_manifest": undefined,
  "space.delete_unmapped_routes": undefined,
  "organization_quota.delete": "OrgQuota",
} as const;
export type Operation = keyof typeof operations;

export interface Job {
  operation: Operation;
  /** GUID of the object. */
  guid: string;
  /** Seconds since the epoch. */
  startedAt: number;
  /** Details of errors: the job failed. */
  errors?: readonly string[];
}

/** Errors beyond this many characters are cut, so that the URL stays one. */
const maxErrorText = 3000;

/** The GUID of a job. */
export function toJobGUID({ operation, guid, startedAt, errors }: Job): string {
  const parts = [operation, guid, startedAt.toString(36)];
  if (errors?.length) parts.push(Buffer.from(JSON.stringify(truncate(errors))).toString("base64url"));
  return parts.map(escaped).join("~");
}

/** As in a URL, and the separator too. */
function escaped(part: string): string {
  return encodeURIComponent(part).replaceAll("~", "%7E");
}

function truncate(errors: readonly string[]): string[] {
  const fit: string[] = [];
  let left = maxErrorText;
  for (const error of errors) {
    if (left <= 0) break;
    fit.push(error.slice(0, left));
    left -= error.length;
  }
  return fit;
}

/** The job a GUID stands for; undefined when it is none of ours. */
export function parseJobGUID(text: string): Job | undefined {
  const [, operation = "", guid = "", startedAt = "", outcome] =
    /^([^~]+)~([^~]+)~([0-9a-z]{1,8})(?:~([\w-]+))?$/.exec(text) ?? [];
  if (!Object.hasOwn(operations, operation)) return undefined;
  const job = { operation: operation as Operation, guid: decodedPart(guid), startedAt: Number.parseInt(startedAt, 36) };
  if (outcome === undefined) return job;
  const errors = parseOutcome(outcome);
  return errors && { ...job, errors };
}

/** Users' GUIDs may hold anything, so parts are escaped; an escape that is none makes the job unknown elsewhere. */
function decodedPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not made by us; it names nothing
  }
}

function parseOutcome(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string")
      ? value
      : undefined;
  } catch {
    return undefined; // not one of our GUIDs
  }
}
