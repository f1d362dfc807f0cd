// Names a request to an API server by what it does, so that equal ones can be counted.

/** `PATCH processes/status by cupola-controller-process: 200`; undefined for a watch. `path` with its query. */
export function describeRequest({
  method,
  path,
  code,
}: {
  method: string;
  path: string;
  code: number;
}): string | undefined {
  const { pathname, searchParams } = new URL(path, "http://x");
  if (searchParams.has("watch")) return undefined;
  // /api/v1 or /apis/<group>/<version>, then namespaces/<name>, then resource, name and subresource.
  const parts = pathname.split("/").slice(pathname.startsWith("/api/") ? 3 : 4);
  const [resource = pathname, , subresource] = parts[0] === "namespaces" && parts.length > 2 ? parts.slice(2) : parts;
  const manager = searchParams.get("fieldManager");
  return `${method} ${resource}${subresource ? `/${subresource}` : ""}${manager ? ` by ${manager}` : ""}: ${code}`;
}
