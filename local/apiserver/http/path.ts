// Reads path and method of a request as verb and resource, as kube-apiserver does.

export interface RequestInfo {
  verb: string;
  group: string;
  version: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
  path: string;
  /** False for discovery, health and all other paths. */
  isResource: boolean;
}

const VERBS: Record<string, string> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
  GET: "get",
  HEAD: "get",
};
const NONE = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };

/** Reads method and path; a `metadata.name` field selector names one object, as for the authorizer. */
export function readRequest(method: string, path: string, query: URLSearchParams): RequestInfo {
  const other: RequestInfo = { ...NONE, verb: method.toLowerCase(), path, isResource: false };
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decode);
  if (parts.some((part) => part === undefined)) return other;
  const [root, ...rest] = parts as string[];
  // The core group has no name in the path.
  const [group = "", version = "", ...resourceParts] = root === "api" ? ["", ...rest] : rest;
  if ((root !== "api" && root !== "apis") || resourceParts.length === 0) return other;
  const at = place(resourceParts);
  const verb = VERBS[method] ?? method.toLowerCase();
  return { ...NONE, group, version, path, isResource: true, ...at, ...named(verb, at.name, query) };
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** Subresources of a Namespace itself; anything else below one is a resource in it. */
const OF_NAMESPACE = new Set(["status", "finalize"]);

function place(parts: string[]): Pick<RequestInfo, "namespace" | "resource" | "name" | "subresource"> {
  const [first = "", second = "", third = "", fourth = "", ...more] = parts;
  const isInside = first === "namespaces" && parts.length > 2 && !(parts.length === 3 && OF_NAMESPACE.has(third));
  if (isInside) return { namespace: second, resource: third, name: fourth, subresource: more.join("/") };
  // For the authorizer a namespace is inside itself.
  return {
    namespace: first === "namespaces" ? second : "",
    resource: first,
    name: second,
    subresource: parts.slice(2).join("/"),
  };
}

function named(verb: string, name: string, query: URLSearchParams): Pick<RequestInfo, "verb" | "name"> {
  if (name !== "" || (verb !== "get" && verb !== "delete")) return { verb, name };
  const isWatch = ["true", "1"].includes(query.get("watch") ?? "");
  const only = /(?:^|,)metadata\.name==?([^,]+)/.exec(query.get("fieldSelector") ?? "");
  return { verb: verb === "delete" ? "deletecollection" : isWatch ? "watch" : "list", name: only?.[1] ?? "" };
}
