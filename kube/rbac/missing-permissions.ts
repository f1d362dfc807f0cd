// Permissions that this client's identity lacks: found by requests that the API server refused, confirmed by asking it, and dropped once it allows them.
import type { Logger } from "pino";
import { SelfSubjectAccessReview } from "../api/builtin.ts";
import { omitUndefined } from "../api/omit-undefined.ts";
import type { KubeClient, RequestRecord } from "../client/client.ts";
import type { ResourceAttributes } from "./types.ts";

const DEADLINE_MS = 10_000;
/** Bound of remembered refusals; more of them tell an operator nothing new. */
const MAX_REFUSALS = 50;

export interface MissingPermissions {
  /** Takes note of a refused request; returns at once. */
  observe(record: RequestRecord): void;
  /** Permissions that the API server confirms to be missing, as `patch gadgets/status.example.com`, sorted. */
  list(): readonly string[];
}

export interface MissingPermissionsOptions {
  client: () => KubeClient;
  log: Logger;
  signal: AbortSignal;
  /** Interval between questions about a permission that is missing. Milliseconds. */
  intervalMs?: number;
}

const VERBS: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };

/** `/api/VERSION` or `/apis/GROUP/VERSION`, a namespace, then the resource, its name and its subresource. */
const RESOURCE_PATH =
  /^\/(?:api|apis\/(?<group>[^/]+))\/[^/]+(?:\/namespaces\/(?<namespace>[^/]+)(?=\/)(?!\/(?:status|finalize)(?:\?|$)))?\/(?<resource>[^/?]+)(?:\/(?<name>[^/?]+))?(?:\/(?<subresource>[^/?]+))?/;

/** The permission that a write needs. Undefined for reads, whose watches are parked, and for paths that name no resource. Pure. */
export function requestedPermission({
  method,
  path,
}: Pick<RequestRecord, "method" | "path">): ResourceAttributes | undefined {
  const verb = VERBS[method];
  const parts = RESOURCE_PATH.exec(path)?.groups;
  if (verb === undefined || !parts) return undefined;
  const { group = "", resource = "", ...rest } = parts;
  return { verb, group, resource, ...omitUndefined(rest) };
}

/** The permission as an operator grants it: without namespace and name. */
export function formatPermission({ verb, group, resource, subresource }: ResourceAttributes): string {
  return `${verb} ${resource}${subresource ? `/${subresource}` : ""}${group ? `.${group}` : ""}`;
}

export function watchMissingPermissions(options: MissingPermissionsOptions): MissingPermissions {
  const { log, signal, intervalMs = 10_000 } = options;
  /** By their format: the newest request, and whether the API server has confirmed it. */
  const refused = new Map<string, { asked: ResourceAttributes; isMissing: boolean }>();
  let timer: NodeJS.Timeout | undefined;

  const review = async (key: string, asked: ResourceAttributes): Promise<void> => {
    const isAllowed = await isAllowedNow(options.client(), asked, signal);
    if (isAllowed === false) refused.set(key, { asked, isMissing: true });
    else if (isAllowed === true) refused.delete(key);
  };
  const reviewAll = async (): Promise<void> => {
    for (const [key, { asked }] of [...refused]) await review(key, asked);
    timer = undefined;
    schedule();
  };
  const schedule = (): void => {
    if (timer || refused.size === 0 || signal.aborted) return;
    timer = setTimeout(() => {
      reviewAll().catch((err: unknown) => log.warn({ err }, "missing permissions could not be reviewed"));
    }, intervalMs).unref();
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });

  return {
    observe(record) {
      const asked = record.code === 403 && !record.isDelegated ? requestedPermission(record) : undefined;
      // Events are written where that is allowed, and dropped elsewhere.
      if (asked?.resource === "events") return;
      const key = asked && formatPermission(asked);
      if (!key || refused.has(key) || refused.size >= MAX_REFUSALS || signal.aborted) return;
      refused.set(key, { asked, isMissing: false });
      schedule();
    },
    list: () => [...refused].flatMap(([key, { isMissing }]) => (isMissing ? [key] : [])).sort(),
  };
}

/** Undefined when the API server gives no answer. Admission refuses requests, too, that RBAC allows. */
export async function isAllowedNow(
  client: KubeClient,
  resourceAttributes: ResourceAttributes,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  try {
    const spec = { spec: { resourceAttributes } };
    const { status } = await client.review(SelfSubjectAccessReview, spec, { signal, deadlineMs: DEADLINE_MS });
    return status?.allowed;
  } catch {
    // The next interval asks again.
    return undefined;
  }
}
