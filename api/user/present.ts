// How a user goes out. A user is a name that a binding gives a role to: its GUID is that name, and nothing about it is stored.

/** Users have no time of creation; CF wants one. */
const SINCE = "1970-01-01T00:00:00Z";

/** Where a user comes from. */
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
