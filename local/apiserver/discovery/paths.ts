// Answers the paths that are no resources: discovery, version, health, OpenAPI.
import { type Catalogue } from "../registry/catalogue.ts";
import { type Exchange } from "../http/resource.ts";
import { negotiate } from "../http/negotiate.ts";
import { sendPlain, sendText } from "../http/respond.ts";
import { noSuchPath } from "../status.ts";
import { aggregated, groupDocument, groupList, resourceList } from "./discovery.ts";
import { openApiIndex, openApiV2, openApiV3 } from "./openapi.ts";

const VERSION = {
  major: "1", minor: "34", emulationMajor: "1", emulationMinor: "34", minCompatibilityMajor: "1", minCompatibilityMinor: "33",
  gitVersion: "v1.34.4", gitCommit: "", gitTreeState: "clean", buildDate: "1970-01-01T00:00:00Z", goVersion: "", compiler: "", platform: "",
};

/** Paths that everybody may read, before any credentials are looked at. */
export const OPEN_PATHS = new Set(["/healthz", "/livez", "/readyz", "/version"]);

/** Documents are made once per revision of the catalogue. */
export function createPaths(catalogue: Catalogue, isReady: () => boolean) {
  const cache = new Map<string, string | undefined>();
  let cachedAt = -1;
  const once = (key: string, make: () => object | undefined): string | undefined => {
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

  function document(parts: string[], as: string | undefined): string | undefined {
    const [root = "", a = "", b = ""] = parts;
    if (root === "api") {
      if (parts.length === 1) return as ? once("api2", () => aggregated(catalogue, true)) : once("api", () => ({ kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] }));
      return parts.length === 2 ? once(`api/${a}`, () => resourceList(catalogue, "", a)) : undefined;
    }
    if (parts.length === 1) return as ? once("apis2", () => aggregated(catalogue, false)) : once("apis", () => groupList(catalogue));
    if (parts.length === 2) return once(`apis/${a}`, () => groupDocument(catalogue, a));
    return parts.length === 3 && a !== "" ? once(`apis/${a}/${b}`, () => resourceList(catalogue, a, b)) : undefined;
  }

  function openApi(parts: string[]): string | undefined {
    const [, version, root, group = "", name = ""] = parts;
    if (version === "v2") return once("openapi/v2", () => openApiV2(catalogue));
    if (version !== "v3") return undefined;
    if (root === undefined) return once("openapi/v3", () => openApiIndex(catalogue));
    if (root === "api") return once(`openapi/v3//${group}`, () => openApiV3(catalogue, "", group));
    return root === "apis" && name ? once(`openapi/v3/${group}/${name}`, () => openApiV3(catalogue, group, name)) : undefined;
  }

  /** Throws 404 for paths that lead nowhere. */
  return function handlePath({ request, response, info }: Pick<Exchange, "request" | "response" | "info">): void {
    const parts = info.path.split("/").filter((part) => part !== "");
    const root = parts[0] ?? "";
    if (["healthz", "livez", "readyz"].includes(root)) return sendPlain(response, isReady() ? 200 : 500, isReady() ? "ok" : "not ready");
    if (root === "version" && parts.length === 1) return sendText(response, 200, JSON.stringify(VERSION), { format: "json" });
    if (request.method !== "GET" && request.method !== "HEAD") throw noSuchPath();
    if (root === "openapi") {
      if (parts[1] === "v2" && request.headers.accept?.includes("protobuf")) return sendEmptyV2(response);
      const text = openApi(parts);
      if (text === undefined) throw noSuchPath();
      return sendText(response, 200, text, { format: "json" });
    }
    if (root !== "api" && root !== "apis") throw noSuchPath();
    const { as } = parts.length === 1 ? negotiate(request, ["APIGroupDiscoveryList"]) : { as: undefined };
    const text = document(parts, as);
    if (text === undefined) throw noSuchPath();
    sendAs(response, text, as);
  };
}

function sendAs(response: Exchange["response"], text: string, as: string | undefined): void {
  const type = as ? "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" : "application/json";
  response.writeHead(200, { "content-type": type, "content-length": Buffer.byteLength(text), "cache-control": "public" });
  response.end(response.req.method === "HEAD" ? undefined : text);
}

/** Old clients read v2 as protobuf, for kinds that v3 does not have: a document without definitions tells them so. */
function sendEmptyV2(response: Exchange["response"]): void {
  const document = Buffer.concat([Buffer.from([0x0a, 3]), Buffer.from("2.0")]);
  response.writeHead(200, { "content-type": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "content-length": document.length });
  response.end(document);
}
