// Where a request goes: the path and method as verb and resource, as kube-apiserver reads them.

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

const VERBS: Record<string, string> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete", GET: "get", HEAD: "get" };
const NONE = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };

/** Reads method and path; a `metadata.name` field selector names one object, as for the authorizer. */
export function readRequest(method: string, path: string, query: URLSearchParams): RequestInfo {
  const other: RequestInfo = { ...NONE, verb: method.toLowerCase(), path, isResource: false };
  const parts = path.split("/").filter((part) => part !== "");
  const isCore = parts[0] === "api" && parts.length >= 3;
  if (!isCore && !(parts[0] === "apis" && parts.length >= 4)) return other;
  const decoded = parts.map(decode);
  if (decoded.some((part) => part === undefined)) return other;
  const [, ...rest] = decoded as string[];
  const [group = "", version = ""] = isCore ? ["", rest[0]] : [rest[0], rest[1]];
  const resourceParts = rest.slice(isCore ? 1 : 2);
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

function place(parts: string[]): Pick<RequestInfo, "namespace" | "resource" | "name" | "subresource"> {
  if (parts[0] === "namespaces" && parts.length > 2 && !(parts.length === 3 && (parts[2] === "status" || parts[2] === "finalize"))) {
    const [, namespace = "", resource = "", name = "", ...sub] = parts;
    return { namespace, resource, name, subresource: sub.join("/") };
  }
  const [resource = "", name = "", ...sub] = parts;
  // For the authorizer a namespace is inside itself.
  return { namespace: resource === "namespaces" ? name : "", resource, name, subresource: sub.join("/") };
}

function named(verb: string, name: string, query: URLSearchParams): Pick<RequestInfo, "verb" | "name"> {
  if (name !== "") return { verb, name };
  if (verb !== "get" && verb !== "delete") return { verb, name };
  const watch = query.get("watch");
  const collection = verb === "delete" ? "deletecollection" : watch === "true" || watch === "1" ? "watch" : "list";
  const only = /(?:^|,)metadata\.name==?([^,]+)/.exec(query.get("fieldSelector") ?? "");
  return { verb: collection, name: only?.[1] ?? "" };
}
