// The operation `webhook`: a server with a path for taken names and one for rules of operator policy that read other objects. Correctness depends on neither.
import { DOMAIN_INDEXES } from "../../controllers/shared/domains.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { CONTROLLER_FIELD_MANAGER_PREFIX, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { DEFAULT_CERTIFICATE_LIFETIMES } from "../../kube/admission/webhook-certificates.ts";
import type { RegisteredWebhook, WebhookScope } from "../../kube/admission/webhook-configuration.ts";
import { startWebhookRegistration, type WebhookRegistration } from "../../kube/admission/webhook-registration.ts";
import {
  startAdmissionServer,
  type AdmissionHandler,
  type AdmissionServer,
} from "../../kube/admission/admission-server.ts";
import { ClusterRole, Secret, ValidatingWebhookConfiguration } from "../../kube/api/builtin.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { JUDGE_PERMISSIONS } from "../policies/judge-permissions.ts";
import { POLICY_WEBHOOK_SCOPE, startPolicyWebhook } from "../policies/policy-webhook.ts";
import type { PlatformContext } from "../platform-context.ts";
import { NAME_WEBHOOK, WEBHOOK_CONFIGURATION, WEBHOOK_SECRET, type WebhookListenOptions } from "../webhook-options.ts";
import { NAME_WEBHOOK_KINDS, NAME_WEBHOOK_SCOPE, reviewName } from "./name-webhook.ts";

const WEBHOOK_SERVICE = { namespace: SYSTEM_NAMESPACE, name: "cupola-webhook" };
/** Its own, which an uninstallation removes. */
const WEBHOOK_ROLE = "cupola-webhook";
const TIMEOUT_SECONDS = 2;
/** Shorter than the webhook's timeout, so that the answer arrives in time. */
const DEADLINE_MS = 1_500;

/** Cluster-wide permissions: the kinds it reads, and its own configuration. */
export const WEBHOOK_PERMISSIONS: readonly Permission[] = [
  ...NAME_WEBHOOK_KINDS.map((on): Permission => ({ resource: on, verbs: LIST_WATCH_VERBS })),
  ...JUDGE_PERMISSIONS,
  {
    resource: ValidatingWebhookConfiguration,
    verbs: [...LIST_WATCH_VERBS, "create", "patch"],
    names: [WEBHOOK_CONFIGURATION],
  },
  { resource: ClusterRole, verbs: ["get"], names: [WEBHOOK_ROLE] },
];
/** Permissions in the platform's namespace: the Secret of its certificates. The first replica creates it. */
export const WEBHOOK_SYSTEM_PERMISSIONS: readonly Permission[] = [
  { resource: Secret, verbs: [...LIST_WATCH_VERBS, "update"], names: [WEBHOOK_SECRET] },
  { resource: Secret, verbs: ["create"] },
];

/** Default: any port of loopback, for an API server on this machine. */
const DEFAULT_LISTEN: WebhookListenOptions = { host: "127.0.0.1", port: 0 };

/** A webhook of the configuration, with its handler. */
interface ServedWebhook {
  name: string;
  path: string;
  scope: Omit<WebhookScope, "timeoutSeconds">;
  handler: AdmissionHandler;
}

/**
 * Listens, then maintains certificate and configuration, which stays after a stop.
 * @throws Error when its address is taken
 */
export async function startWebhookOperation(context: PlatformContext): Promise<void> {
  const { options, log, disposables, readiness } = context;
  const listen = options.webhook ?? DEFAULT_LISTEN;
  const webhooks = [serveNames(context), servePolicies(context)];
  const server = await startAdmissionServer({
    host: listen.host,
    port: listen.port,
    handlers: new Map(webhooks.map(({ path, handler }) => [path, handler])),
    deadlineMs: DEADLINE_MS,
    log,
  });
  disposables.defer(() => server.close());
  const abort = new AbortController();
  const registration = register(context, { listen, server, webhooks, signal: abort.signal });
  disposables.defer(() => {
    abort.abort();
    return registration.stopped;
  });
  readiness.addCheck("webhook", () => registration.check());
}

function serveNames({ informers, disposables }: PlatformContext): ServedWebhook {
  const handles = [
    ...NAME_WEBHOOK_KINDS.map((ref) => informers.ensure(ref)),
    informers.ensure(Domain, { indexes: DOMAIN_INDEXES }),
  ];
  disposables.defer(() => {
    for (const handle of handles) handle.release();
  });
  return {
    name: NAME_WEBHOOK,
    path: "/names",
    scope: NAME_WEBHOOK_SCOPE,
    handler: (request) => reviewName(request, informers.read),
  };
}

/** @throws Error in a process that does not judge by operator policy */
function servePolicies({ informers, policies, disposables }: PlatformContext): ServedWebhook {
  if (!policies) throw new Error("the webhook needs the policies of its process");
  const webhook = startPolicyWebhook(policies.live, informers);
  disposables.defer(() => webhook.close());
  return {
    name: "policies.cupola.dev",
    path: "/policies",
    scope: POLICY_WEBHOOK_SCOPE,
    handler: (request) => Promise.resolve(webhook.review(request)),
  };
}

interface Registered {
  listen: WebhookListenOptions;
  server: AdmissionServer;
  webhooks: readonly ServedWebhook[];
  signal: AbortSignal;
}

function register(
  { client, informers, log }: PlatformContext,
  { listen, server, webhooks, signal }: Registered,
): WebhookRegistration {
  const addressOf = (path: string): RegisteredWebhook["address"] =>
    listen.service
      ? { service: { ...WEBHOOK_SERVICE, path, port: 443 } }
      : { url: `https://${server.authority}${path}` };
  return startWebhookRegistration({
    client,
    informers,
    log,
    secret: { namespace: SYSTEM_NAMESPACE, name: WEBHOOK_SECRET },
    configuration: WEBHOOK_CONFIGURATION,
    webhooks: webhooks.map(({ name, scope, path }) => ({
      name,
      scope: { ...scope, timeoutSeconds: TIMEOUT_SECONDS },
      address: addressOf(path),
    })),
    owner: { ref: ClusterRole, name: WEBHOOK_ROLE },
    hosts: [listen.service ? `${WEBHOOK_SERVICE.name}.${WEBHOOK_SERVICE.namespace}.svc` : listen.host],
    lifetimes: listen.lifetimes ?? DEFAULT_CERTIFICATE_LIFETIMES,
    fieldManager: `${CONTROLLER_FIELD_MANAGER_PREFIX}webhook`,
    setCertificate: (pair) => server.setCertificate(pair),
    signal,
  });
}
