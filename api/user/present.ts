// Presents a user as CF's JSON. A user is a subject of a RoleBinding: its GUID is that name, and nothing else is stored.

/** Users have no creation time, but CF clients require one. */
const SINCE = "1970-01-01T00:00:00Z";

/** CF's `origin` of a user. */
export function originOf(name: string): string {
  return name.startsWith("system:serviceaccount:") ? "serviceaccount" : "kubernetes";
}

export function presentUser(name: string, base: string): object {
  return {
    guid: name,
    created_at: SINCE,
    updated_at: SINCE,
    username: name,
    presentation_name: name,
    origin: originOf(name),
    metadata: { labels: {}, annotations: {} },
    links: { self: { href: `${base}/v3/users/${encodeURIComponent(name)}` } },
  };
}
