// Asks a broker for its catalog. What can go wrong has a reason for the Ready condition.
import { toBrokerError, toMalformed } from "../shared/osb/broker-words.ts";
import type { Catalog } from "../shared/osb/catalog.ts";
import { MAX_CATALOG_BYTES, parseCatalog } from "../shared/osb/catalog.ts";
import { callBroker, type BrokerAccess, type BrokerAnswer } from "../shared/osb/call-broker.ts";

export type FetchedCatalog = { catalog: Catalog } | { reason: string; message: string };

/** Never throws but for an aborted `signal`. */
export async function fetchCatalog(access: BrokerAccess, signal: AbortSignal): Promise<FetchedCatalog> {
  const request = { method: "GET", path: "/v2/catalog", maxBytes: MAX_CATALOG_BYTES } as const;
  return toFetchedCatalog(await callBroker(access, request, signal));
}

export function toFetchedCatalog(answer: BrokerAnswer): FetchedCatalog {
  if (answer.kind === "unreachable")
    return {
      reason: "BrokerUnreachable",
      message: `the service broker could not be reached (${answer.why}); check spec.url, and that it runs`,
    };
  if (answer.kind === "lost")
    return { reason: "BrokerFailed", message: `the service broker gave no catalog: ${answer.why}` };
  const refusal = toRefusal(answer);
  if (refusal) return refusal;
  if (!answer.body)
    return {
      reason: "CatalogInvalid",
      message: toMalformed("its catalog is no JSON object"),
    };
  const parsed = parseCatalog(answer.body);
  return "catalog" in parsed
    ? parsed
    : { reason: "CatalogInvalid", message: `Service broker catalog is invalid: ${parsed.problems.join("; ")}` };
}

function toRefusal(answer: BrokerAnswer & { kind: "answer" }): { reason: string; message: string } | undefined {
  const { status } = answer;
  if (status === 200) return undefined;
  if (status === 401 || status === 403)
    return {
      reason: "BrokerRefused",
      message: `the service broker refused its username or password (${status}); correct them`,
    };
  if (status >= 300 && status < 400)
    return {
      reason: "BrokerRefused",
      message: `the service broker redirects (${status}), which is not followed; put its final address in spec.url`,
    };
  return {
    reason: status >= 500 ? "BrokerFailed" : "BrokerRefused",
    message: toBrokerError(answer),
  };
}
