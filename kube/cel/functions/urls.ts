// URLs in expressions: Go's reading of absolute URLs and absolute paths.
import { CelError, jsonMap, typeName, type CelOpaque, type CelValue } from "../values.ts";
import { text, type Library } from "./library.ts";

interface UrlParts {
  scheme: string;
  host: string;
  path: string;
  query: string;
  whole: string;
}

/** Undefined when the text is neither an absolute URL nor an absolute path. */
export function parseUrl(whole: string): UrlParts | undefined {
  const match = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?]*)(?:\?(.*))?$/s.exec(whole);
  if (!match) return undefined;
  const [, scheme = "", authority = "", path = "", query = ""] = match;
  if (scheme === "" && !whole.startsWith("/")) return undefined;
  if (malformed(authority, path)) return undefined;
  return {
    scheme: scheme.toLowerCase(),
    host: authority.slice(authority.lastIndexOf("@") + 1),
    path: path.replaceAll(" ", "%20"),
    query,
    whole,
  };
}

/** Go refuses control characters anywhere, spaces in the host, and percent signs that encode nothing. */
function malformed(authority: string, path: string): boolean {
  return (
    /[\u0000-\u001f\u007f]/.test(authority + path) ||
    authority.includes(" ") ||
    /%(?![0-9a-fA-F]{2})/.test(authority + path)
  );
}

function hostParts(host: string): { name: string; port: string } {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(host);
  return { name: match?.[1] ?? match?.[2] ?? host, port: match?.[3] ?? "" };
}

function queryOf(query: string): CelValue {
  const values = Map.groupBy(new URLSearchParams(query), ([key]) => key);
  return jsonMap(Object.fromEntries([...values].map(([key, pairs]) => [key, pairs.map(([, value]) => value)])));
}

const urlMethods: Record<string, (url: UrlParts) => CelValue> = {
  getScheme: (url) => url.scheme,
  getHost: (url) => url.host,
  getHostname: (url) => hostParts(url.host).name,
  getPort: (url) => hostParts(url.host).port,
  getEscapedPath: (url) => url.path,
  getQuery: (url) => queryOf(url.query),
};

export const urlMethodNames = Object.keys(urlMethods);

function url(parts: UrlParts): CelOpaque {
  return {
    celKind: "opaque",
    type: "kubernetes.URL",
    call: (method, args) => {
      const read = urlMethods[method];
      if (!read) throw new CelError(`no such overload: kubernetes.URL.${method}(${args.map(typeName).join(", ")})`);
      return read(parts);
    },
    equals: (other) => other.type === "kubernetes.URL" && other.toText?.() === parts.whole,
    toText: () => parts.whole,
  };
}

export const urls: Library = {
  functions: {
    url: (source) => {
      const parts = parseUrl(text(source));
      if (!parts)
        throw new CelError(
          `URL parse error during conversion from string: parse ${JSON.stringify(source)}: invalid URI for request`,
        );
      return url(parts);
    },
    isURL: (source) => parseUrl(text(source)) !== undefined,
  },
  methods: {},
};
