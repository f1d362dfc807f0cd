// Answers paths other than resources: discovery, version, health, OpenAPI.
import { createHash } from "node:crypto";
import type { Catalogue } from "../registry/catalogue.ts";
import type { Exchange } from "../http/resource.ts";
import { negotiate } from "../http/negotiate.ts";
import { sendPlain, sendText } from "../http/respond.ts";
import { aggregated, groupDocument, groupList, resourceList } from "./discovery.ts";
import { hashOf, openApiIndex, openApiV2, openApiV3 } from "./openapi.ts";

const VERSION = {
  major: "1",
  minor: "34",
  emulationMajor: "1",
  emulationMinor: "34",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "33",
  gitVersion: "v1.34.4",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "",
};

const CORE_VERSIONS = { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
const NOT_FOUND = "404 page not found\n";

/** Paths that everybody may read without credentials. */
export const OPEN_PATHS = new Set(["/healthz", "/livez", "/readyz", "/version"]);

type PathHandler = (exchange: Pick<Exchange, "request" | "response">, parts: string[]) => void;

type Once = (key: string, make: () => object | undefined) => string | undefined;

/** Documents are made once per revision of the catalogue. */
function createDocumentCache(catalogue: Catalogue): Once {
  const cache = new Map<string, string | undefined>();
  let cachedAt = -1;
  return (key, make) => {
    if (cachedAt !== catalogue.revision()) {
      cache.clear();
      cachedAt = catalogue.revision();
    }
    if (!cache.has(key)) {
      const document = make();
      cache.set(key, document && JSON.stringify(document));
    }
    return cache.get(key);
  };
}

function openApi(catalogue: Catalogue, once: Once, parts: string[]): string | undefined {
  const [, version, root, group = "", name = ""] = parts;
  if (version === "v2") return once("openapi/v2", () => openApiV2(catalogue));
  if (version !== "v3") return undefined;
  if (root === undefined) return once("openapi/v3", () => openApiIndex(catalogue));
  if (root === "api") return once(`openapi/v3//${group}`, () => openApiV3(catalogue, "", group));
  return root === "apis" && name
    ? once(`openapi/v3/${group}/${name}`, () => openApiV3(catalogue, group, name))
    : undefined;
}

export function createPaths(catalogue: Catalogue, isReady: () => boolean) {
  const once = createDocumentCache(catalogue);

  /** Documents of `/api` and `/apis`, their groups and versions. */
  function document([root = "", a = "", b = ""]: string[], as: string | undefined): string | undefined {
    const isCore = root === "api";
    if (a === "")
      return as
        ? once(`${root} aggregated`, () => aggregated(catalogue, isCore))
        : once(root, () => (isCore ? CORE_VERSIONS : groupList(catalogue)));
    if (isCore) return b === "" ? once(`api/${a}`, () => resourceList(catalogue, "", a)) : undefined;
    return b === ""
      ? once(`apis/${a}`, () => groupDocument(catalogue, a))
      : once(`apis/${a}/${b}`, () => resourceList(catalogue, a, b));
  }

  function handleDiscovery({ request, response }: Pick<Exchange, "request" | "response">, parts: string[]): void {
    const { as } = parts.length === 1 ? negotiate(request, ["APIGroupDiscoveryList"]) : { as: undefined };
    const text = parts.length <= 3 ? document(parts, as) : undefined;
    if (text === undefined) sendPlain(response, 404, NOT_FOUND);
    else if (as)
      sendDocument(response, text, {
        type: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        cache: "public",
        vary: "Accept",
        etag: digest(text),
      });
    else sendText(response, 200, text, { format: "json" });
  }

  function handleOpenApi({ request, response }: Pick<Exchange, "request" | "response">, parts: string[]): void {
    if (parts[1] === "v2" && request.headers.accept?.includes("protobuf")) return sendEmptyV2(response);
    const text = openApi(catalogue, once, parts);
    if (text === undefined) return sendPlain(response, 404, NOT_FOUND);
    const asked = new URL(request.url ?? "/", "https://server.invalid").searchParams.get("hash") ?? "";
    sendHashed(response, text, {
      path: `/${parts.join("/")}`,
      asked,
      hash: versionHash(catalogue, parts) ?? digest(text),
    });
  }

  const health: PathHandler = ({ response }) =>
    sendPlain(response, isReady() ? 200 : 500, isReady() ? "ok" : "not ready");
  const HANDLERS: Record<string, PathHandler> = {
    healthz: health,
    livez: health,
    readyz: health,
    openapi: handleOpenApi,
    api: handleDiscovery,
    apis: handleDiscovery,
    version: ({ response }) => sendText(response, 200, JSON.stringify(VERSION), { format: "json" }),
  };

  /** Unknown paths get 404 as plain text. */
  return function handlePath(exchange: Pick<Exchange, "request" | "response" | "info">): void {
    const { request, response, info } = exchange;
    const parts = info.path.split("/").filter((part) => part !== "");
    const isRead = request.method === "GET" || request.method === "HEAD";
    const handle = isRead ? HANDLERS[parts[0] ?? ""] : undefined;
    if (handle) handle(exchange, parts);
    else sendPlain(response, 404, NOT_FOUND);
  };
}

interface Headers {
  type: string;
  cache: string;
  etag: string;
  vary?: string;
}

const digests = new Map<string, string>();
const MOST_DIGESTS = 20;

/** Digest of a document's text; made once for each of the latest ones. */
function digest(text: string): string {
  const known = digests.get(text);
  if (known) return known;
  if (digests.size >= MOST_DIGESTS) digests.clear();
  const made = createHash("sha512").update(text).digest("hex").toUpperCase();
  digests.set(text, made);
  return made;
}

/** 304 when the client has it. */
function sendDocument(response: Exchange["response"], text: string, { type, cache, etag, vary }: Headers): void {
  const quoted = `"${etag}"`;
  response.setHeader("etag", quoted);
  response.setHeader("cache-control", cache);
  if (vary) response.setHeader("vary", vary);
  if (response.req.headers["if-none-match"] === quoted) {
    response.writeHead(304).end();
    return;
  }
  response.writeHead(200, { "content-type": type, "content-length": Buffer.byteLength(text) });
  response.end(response.req.method === "HEAD" ? undefined : text);
}

/** The hash that stands for the document of a group version; undefined for other documents. */
function versionHash(catalogue: Catalogue, [, version, root, group = "", name = ""]: string[]): string | undefined {
  if (version !== "v3" || root === undefined) return undefined;
  return root === "api"
    ? hashOf(catalogue, `api/${group}`, "", group)
    : hashOf(catalogue, `apis/${group}/${name}`, group, name);
}

/** A request with the current hash gets a document to cache forever; one with an old hash is redirected to the current one. */
function sendHashed(
  response: Exchange["response"],
  text: string,
  { path, asked, hash }: { path: string; asked: string; hash: string },
): void {
  if (asked && asked !== hash) redirect(response, `${path}?hash=${hash}`);
  else
    sendDocument(response, text, {
      type: "application/json",
      cache: asked ? "public, immutable" : "no-cache, private",
      etag: hash,
    });
}

function redirect(response: Exchange["response"], location: string): void {
  response.writeHead(301, { location, "content-length": 0 });
  response.end();
}

/** Old clients read v2 as protobuf, for kinds that v3 does not have: a document without definitions tells them so. */
function sendEmptyV2(response: Exchange["response"]): void {
  const document = Buffer.concat([Buffer.from([0x0a, 3]), Buffer.from("2.0")]);
  response.writeHead(200, {
    "content-type": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "content-length": document.length,
  });
  response.end(document);
}
