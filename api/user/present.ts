// Presents a user as CF's JSON. A user is a subject of a RoleBinding or has a record: its GUID is the user name.
import type { Session } from "../access/session.ts";
import { createdAt, updatedAt } from "../cache/object-times.ts";
import { metadataOf } from "../http/metadata.ts";
import { toCFUser } from "../cf/role/user-origin.ts";
import { findUserRecord } from "../cf/role/user-records.ts";

/** A user without a record has no creation time, but CF clients require one. */
const SINCE = "1970-01-01T00:00:00Z";

export function presentUser(
  { cache, usesUAA }: Pick<Session, "cache" | "usesUAA">,
  name: string,
  base: string,
  record = findUserRecord(cache, name),
): object {
  const { username, origin } = toCFUser(name, usesUAA);
  return {
    guid: name,
    created_at: record ? createdAt(record) : SINCE,
    updated_at: record ? updatedAt(record) : SINCE,
    username,
    presentation_name: username,
    origin,
    metadata: record ? metadataOf(record) : { labels: {}, annotations: {} },
    links: { self: { href: `${base}/v3/users/${encodeURIComponent(name)}` } },
  };
}
