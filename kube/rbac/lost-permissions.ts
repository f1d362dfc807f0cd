// Permissions that this client's identity was declared to have and lacks now, before anything needs them: one review of its rules in one namespace tells.
import type { Logger } from "pino";
import { SelfSubjectRulesReview } from "../api/builtin.ts";
import { omitUndefined } from "../api/omit-undefined.ts";
import type { KubeClient } from "../client/client.ts";
import { ruleAllows } from "./match.ts";
import { formatPermission, isAllowedNow } from "./missing-permissions.ts";
import type { ResourceRule } from "./resource-rules.ts";
import type { PolicyRule, ResourceAttributes } from "./types.ts";

const DEADLINE_MS = 10_000;
/** With the review of the rules at most 9 requests a minute. */
const INTERVAL_MS = 20_000;
const CONFIRMED_PER_ROUND = 2;

export interface LostPermissionsOptions {
  client: () => KubeClient;
  /** Called at the first review, long after the start. */
  declared: () => readonly ResourceRule[];
  /** Its rules are reviewed: those of the whole cluster, and those of this namespace. */
  namespace: string;
  log: Logger;
  signal: AbortSignal;
  intervalMs?: number;
}

/** Returns a function that lists what is lost, as `create leases.coordination.k8s.io`, sorted. */
export function watchLostPermissions(options: LostPermissionsOptions): () => readonly string[] {
  const { declared, namespace, log, signal, intervalMs = INTERVAL_MS } = options;
  let permissions: readonly ResourceAttributes[] | undefined;
  let lost: readonly ResourceAttributes[] = [];
  let timer: NodeJS.Timeout | undefined;
  const run = async (): Promise<void> => {
    permissions ??= toPermissions(declared(), namespace);
    lost = await review(options, permissions, lost).catch((err: unknown) => {
      log.debug({ err }, "the rules of this process could not be reviewed");
      return lost;
    });
    schedule();
  };
  const schedule = (): void => {
    if (!signal.aborted) timer = setTimeout(() => void run(), intervalMs).unref();
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  schedule();
  return () => [...new Set(lost.map(formatPermission))].sort();
}

async function review(
  { client, namespace, signal }: LostPermissionsOptions,
  permissions: readonly ResourceAttributes[],
  before: readonly ResourceAttributes[],
): Promise<readonly ResourceAttributes[]> {
  const call = { signal, deadlineMs: DEADLINE_MS };
  const { status } = await client().review(SelfSubjectRulesReview, { spec: { namespace } }, call);
  if (!status) return before;
  // Its type in kubernetes-types lacks the required fields.
  const uncovered = planLost(permissions, status.resourceRules as PolicyRule[]);
  if (!status.incomplete) return uncovered;
  // Another authorizer, which cannot list its rules, may grant them: those not yet known are asked for one by one, in turns.
  const known = uncovered.filter((one) => before.includes(one));
  const asked = takeTurns(uncovered.filter((one) => !before.includes(one)));
  const answers = await Promise.all(asked.map((one) => isAllowedNow(client(), one, signal)));
  return [...known, ...asked.filter((_one, at) => answers[at] === false)];
}

/** A few at random: all have their turn, and nothing is remembered. */
function takeTurns(candidates: readonly ResourceAttributes[]): readonly ResourceAttributes[] {
  const start = Math.floor(Math.random() * candidates.length);
  return [...candidates.slice(start), ...candidates.slice(0, start)].slice(0, CONFIRMED_PER_ROUND);
}

/** Those that no rule allows. Pure. */
export function planLost(
  permissions: readonly ResourceAttributes[],
  rules: readonly PolicyRule[],
): ResourceAttributes[] {
  return permissions.filter((permission) => !rules.some((rule) => ruleAllows(rule, permission)));
}

/** A permission for each verb, resource and name of the rules. Pure. */
export function toPermissions(rules: readonly ResourceRule[], namespace: string): ResourceAttributes[] {
  return rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((path) => {
        const [resource = "", subresource] = path.split("/");
        return verbs.flatMap((verb) =>
          (resourceNames ?? [undefined]).map((name) => ({
            ...{ verb, group, resource, namespace },
            ...omitUndefined({ subresource, name }),
          })),
        );
      }),
    ),
  );
}
