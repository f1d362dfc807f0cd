// Judges a broker's answer to a bind, or to a fetch of a binding, by the catalog's `requires`, in CF's words. Pure.
import type { BindingContent } from "../../crds/service-binding/binding-secret.ts";
import { toVolumes } from "../../crds/service-binding/volumes.ts";
import type { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import { isRouteServiceURL } from "../../crds/service-instance/route-service-url.ts";
import { toBrokerError, toMalformed } from "../shared/osb/broker-words.ts";
import type { BrokerAnswer } from "../shared/osb/call-broker.ts";
import { credentialsProblem, textOf, toOutcome, type Outcome } from "../shared/osb/outcomes.ts";

/** For an app or, as a key, for people, who mount no volumes. */
interface For {
  offering: Pick<ServiceOffering, "spec"> | undefined;
  type: "app" | "key" | "route";
}
type Body = Record<string, unknown>;

const NOT_RETRIEVABLE =
  "The service binding is invalid: The broker responded asynchronously but does not support fetching binding data";
const NO_LOGGING_SERVICE =
  "The service is attempting to stream logs from your application, but is not registered as a logging service. Please contact the service provider.";
const NO_VOLUME_SERVICE = toMalformed(
  "The service is attempting to supply volume mounts from your application, but is not registered as a volume mount service. Please contact the service provider.",
);
export const VOLUMES_DISABLED = "Support for volume mount services is disabled";

/** The outcome of a request to bind. */
export function toBindOutcome(answer: BrokerAnswer, bound: For): Outcome {
  const outcome = toOutcome("bind", answer);
  if (outcome.kind === "accepted" && !bound.offering?.spec.bindingsRetrievable)
    return { kind: "unclear", why: NOT_RETRIEVABLE };
  const problem = outcome.kind === "done" ? problemOf(outcome.body, bound) : undefined;
  return problem === undefined ? outcome : { kind: "unclear", why: problem };
}

/** The outcome of fetching a binding that the broker made asynchronously. A failed fetch is repeated. */
export function toFetchOutcome(answer: BrokerAnswer, bound: For): Outcome {
  if (answer.kind !== "answer")
    return {
      kind: "later",
      why: `The service broker did not tell the binding: ${answer.why}.`,
      retryAfterSeconds: undefined,
    };
  const { status, retryAfterSeconds } = answer;
  if (status >= 500 || status === 429 || status === 408)
    return { kind: "later", why: toBrokerError(answer), retryAfterSeconds };
  return status === 200 ? toTold(answer.body, bound) : { kind: "unclear", why: toBrokerError(answer) };
}

function toTold(body: Body | undefined, bound: For): Outcome {
  if (!body) return { kind: "unclear", why: toMalformed("expected valid JSON object in body") };
  const malformed = credentialsProblem(body);
  const problem = malformed === undefined ? problemOf(body, bound) : toMalformed(malformed);
  return problem === undefined ? { kind: "done", body, description: "" } : { kind: "unclear", why: problem };
}

function problemOf(body: Body, { offering, type }: For): string | undefined {
  const requires = offering?.spec.requires ?? [];
  if (isGiven(body["syslog_drain_url"]) && !requires.includes("syslog_drain")) return NO_LOGGING_SERVICE;
  if (isGiven(body["volume_mounts"]) && !requires.includes("volume_mount")) return NO_VOLUME_SERVICE;
  const volumes = type === "app" ? volumesProblem(body["volume_mounts"]) : undefined;
  if (volumes !== undefined) return toMalformed(volumes);
  return isValidAddress(body["route_service_url"]) ? undefined : toMalformed("route_service_url is no https address");
}

function volumesProblem(mounts: unknown): string | undefined {
  if (!isGiven(mounts)) return undefined;
  const found = Array.isArray(mounts) ? toVolumes(mounts) : { problem: "volume_mounts is no list" };
  return "problem" in found ? found.problem : undefined;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

function isValidAddress(value: unknown): boolean {
  return !isGiven(value) || (typeof value === "string" && isRouteServiceURL(value));
}

/** The parts of a broker's answer that are kept. */
export function toContent(body: Body, { offering }: Pick<For, "offering">): BindingContent {
  const { credentials, volume_mounts: mounts } = body;
  const drain = textOf(body["syslog_drain_url"]);
  const isRouteService = offering?.spec.requires.includes("route_forwarding");
  const routeService = isRouteService ? textOf(body["route_service_url"]) : undefined;
  return {
    credentials: typeof credentials === "object" && credentials !== null ? (credentials as Body) : {},
    ...(drain !== undefined && { syslogDrainURL: drain }),
    ...(routeService !== undefined && { routeServiceURL: routeService }),
    ...(Array.isArray(mounts) && offering?.spec.requires.includes("volume_mount") && { volumeMounts: mounts }),
  };
}
