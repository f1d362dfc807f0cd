// Options of routes in CF's words: which are valid, what an update leaves of them, and how they are shown. `hash` and its options need a feature flag.
import { HEADER_NAME, type RouteOptions } from "../../../crds/route/route.ts";
import { unprocessable } from "../../http/errors.ts";

/** As requests and manifests write them; null or "" removes one. */
export interface RouteOptionsInput {
  loadbalancing?: unknown;
  hash_header?: unknown;
  hash_balance?: unknown;
}

const HASH_OPTIONS = ["hash_header", "hash_balance"] as const;
const MAX_HEADER = 128;
const MAX_BALANCE = 16;

export function validOptions(isHashAllowed: boolean): string[] {
  return ["loadbalancing", ...(isHashAllowed ? HASH_OPTIONS : [])];
}

export function validAlgorithms(isHashAllowed: boolean): string[] {
  return ["round-robin", "least-connection", ...(isHashAllowed ? ["hash"] : [])];
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

/** Faults in the options of a request, in the order in which CF says it. */
export function findOptionProblems(options: RouteOptionsInput, isHashAllowed: boolean): string[] {
  const { loadbalancing } = options;
  const algorithms = validAlgorithms(isHashAllowed);
  const unknown = isHashAllowed ? [] : HASH_OPTIONS.filter((key) => !isBlank(options[key]));
  return [
    ...(isBlank(loadbalancing) || algorithms.includes(loadbalancing as string)
      ? []
      : [`Loadbalancing must be one of '${algorithms.join(", ")}' if present`]),
    ...(unknown.length > 0 ? [`Unknown field(s): '${unknown.join("', '")}'`] : []),
    ...(isHashAllowed ? findHashProblems(options) : []),
  ];
}

/** Problems of hash_header and hash_balance alone. */
export function findHashProblems(options: RouteOptionsInput): string[] {
  const { loadbalancing, hash_header: header, hash_balance: balance } = options;
  const isOther = !isBlank(loadbalancing) && loadbalancing !== "hash";
  return [
    ...findHeaderProblems(header),
    ...findBalanceProblems(balance),
    ...(isOther && !isBlank(header) ? ["Hash header can only be set when loadbalancing is hash"] : []),
    ...(isOther && !isBlank(balance) ? ["Hash balance can only be set when loadbalancing is hash"] : []),
  ];
}

function findHeaderProblems(header: unknown): string[] {
  if (isBlank(header)) return [];
  if (typeof header !== "string") return ["Hash header must be a string"];
  if (header.length > MAX_HEADER) return [`Hash header must be at most ${MAX_HEADER} characters`];
  return HEADER_NAME.test(header) ? [] : ["Hash header must be the name of an HTTP header, as in X-Session-ID"];
}

function findBalanceProblems(balance: unknown): string[] {
  if (isBlank(balance)) return [];
  const text = String(balance);
  if (text.length > MAX_BALANCE) return [`Hash balance must be at most ${MAX_BALANCE} characters`];
  const value = /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) return ["Hash balance must be a numeric value"];
  return value === 0 || (value >= 1.1 && value <= 10) ? [] : ["Hash balance must be either 0 or between 1.1 and 10.0"];
}

/**
 * Options after valid ones of a request were merged in; without `hash` its options go. hash_balance is a text with one decimal.
 * @throws CFError 422 for hash without a header
 */
export function mergeRouteOptions(current: RouteOptions | undefined, options: RouteOptionsInput): RouteOptions {
  const pick = <T>(key: keyof RouteOptionsInput, before: T): T | string =>
    options[key] === undefined ? before : String(options[key] ?? "");
  const loadbalancing = pick("loadbalancing", current?.loadbalancing) as RouteOptions["loadbalancing"] | "";
  const hashHeader = pick("hash_header", current?.hashHeader);
  const hashBalance = pick("hash_balance", current?.hashBalance);
  if (!loadbalancing) return {};
  if (loadbalancing !== "hash") return { loadbalancing };
  if (!hashHeader) throw unprocessable("Hash header must be present when loadbalancing is set to hash.");
  return { loadbalancing, hashHeader, ...(hashBalance && { hashBalance: Number(hashBalance).toFixed(1) }) };
}

/** The patch of `spec.options`: null removes an option. */
export function toOptionsPatch(after: RouteOptions): Record<keyof RouteOptions, string | null> {
  const { loadbalancing = null, hashHeader = null, hashBalance = null } = after;
  return { loadbalancing, hashHeader, hashBalance };
}

export function presentRouteOptions({ loadbalancing, hashHeader, hashBalance }: RouteOptions): Record<string, string> {
  return {
    ...(loadbalancing && { loadbalancing }),
    ...(hashHeader !== undefined && { hash_header: hashHeader }),
    ...(hashBalance !== undefined && { hash_balance: hashBalance }),
  };
}
