// The operation `webhook`: refuses taken names early and in friendly words. Correctness does not depend on it, because claims decide.
import type { Logger } from "pino";
import { findClaimantName } from "../../controllers/shared/claimant-name.ts";
import { DOMAIN_INDEXES } from "../../controllers/shared/domains.ts";
import { TENANCY_KINDS } from "../../controllers/shared/tenancy.ts";
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { claimObjectName, isClaimant, type ClaimedName } from "../../crds/claim/rules.ts";
import { Domain } from "../../crds/domain/domain.ts";
import { API_FIELD_MANAGER, CONTROLLER_FIELD_MANAGER_PREFIX, GROUP, SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { DEFAULT_CERTIFICATE_LIFETIMES, type CertificateLifetimes } from "../../kube/admission/webhook-certificates.ts";
import type { WebhookAddress, WebhookScope } from "../../kube/admission/webhook-configuration.ts";
import { startWebhookRegistration, type WebhookRegistration } from "../../kube/admission/webhook-registration.ts";
import { ALLOWED, type AdmissionRequest, type AdmissionDecision } from "../../kube/admission/admission-review.ts";
import { startAdmissionServer, type AdmissionServer } from "../../kube/admission/admission-server.ts";
import { ClusterRole, Secret, ValidatingWebhookConfiguration } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { LIST_WATCH_VERBS } from "../../kube/controller/permissions.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import type { Informers } from "../../kube/cache/informers.ts";

/** Names of the Secret with its certificates, its Service, its configuration, and the webhook therein. */
export const WEBHOOK_SECRET = "cupola-webhook";
const WEBHOOK_SERVICE = { namespace: SYSTEM_NAMESPACE, name: "cupola-webhook" };
export const WEBHOOK_NAMES = { configuration: "cupola", webhook: "names.cupola.dev" };
/** Its own, which an uninstallation removes. */
const WEBHOOK_ROLE = "cupola-webhook";
const WEBHOOK_PATH = "/names";
const TIMEOUT_SECONDS = 2;
/** Shorter than the webhook's timeout, so that the answer arrives in time. */
const DEADLINE_MS = 1_500;

/** Kinds whose names are claimed, with the scope of uniqueness in a person's words. */
const CLAIMED_KINDS: readonly { ref: ResourceRef; what: string }[] = [
  { ref: Org, what: "Org" },
  { ref: Space, what: "Space of this org" },
  { ref: App, what: "App of this space" },
  { ref: Domain, what: "Domain" },
  { ref: Route, what: "Route" },
];
const READ_KINDS: readonly ResourceRef[] = [...new Set([...TENANCY_KINDS, ...CLAIMED_KINDS.map(({ ref }) => ref)])];

const WEBHOOK_SCOPE: WebhookScope = {
  rules: [
    {
      apiGroups: [GROUP],
      apiVersions: [...new Set(CLAIMED_KINDS.map(({ ref }) => ref.version))],
      operations: ["CREATE", "UPDATE"],
      resources: CLAIMED_KINDS.map(({ ref }) => ref.plural),
      scope: "*",
    },
  ],
  // The API holds the claim before it writes. Another client under its field manager only misses the early refusal.
  matchConditions: [
    {
      name: "not-claimed-by-the-api",
      expression: `!has(request.options.fieldManager) || request.options.fieldManager != "${API_FIELD_MANAGER}"`,
    },
  ],
  timeoutSeconds: TIMEOUT_SECONDS,
};

/** Cluster-wide permissions: the kinds it reads, and its own configuration. */
export const WEBHOOK_PERMISSIONS: readonly Permission[] = [
  ...READ_KINDS.map((on): Permission => ({ resource: on, verbs: LIST_WATCH_VERBS })),
  {
    resource: ValidatingWebhookConfiguration,
    verbs: [...LIST_WATCH_VERBS, "create", "patch"],
    names: [WEBHOOK_NAMES.configuration],
  },
  { resource: ClusterRole, verbs: ["get"], names: [WEBHOOK_ROLE] },
];
/** Permissions in the platform's namespace: the Secret of its certificates. The first replica creates it. */
export const WEBHOOK_SYSTEM_PERMISSIONS: readonly Permission[] = [
  { resource: Secret, verbs: [...LIST_WATCH_VERBS, "update"], names: [WEBHOOK_SECRET] },
  { resource: Secret, verbs: ["create"] },
];

/**
 * Where it listens. API servers reach it at that very address, or, with `service`, through the Service `cupola-webhook`
 * in `cupola-system`, whose port 443 leads there.
 */
export interface WebhookListenOptions {
  host: string;
  /** 0 for any; not with `service`. */
  port: number;
  service?: boolean;
  /** Shorter lifetimes for tests that cannot wait for months. */
  lifetimes?: CertificateLifetimes;
}

/** Default: any port of loopback, for an API server on this machine. */
export const DEFAULT_WEBHOOK_LISTEN: WebhookListenOptions = { host: "127.0.0.1", port: 0 };

export interface NameWebhook {
  checkReadiness: WebhookRegistration["check"];
  stop(): Promise<void>;
}

interface NameWebhookOptions {
  client: KubeClient;
  informers: Informers;
  listen: WebhookListenOptions;
  log: Logger;
}

/** Listens, then maintains certificate and configuration. The configuration stays after a stop. @throws Error when the port is taken */
export async function startNameWebhook(options: NameWebhookOptions): Promise<NameWebhook> {
  const { informers, listen, log } = options;
  const handles = [
    ...READ_KINDS.map((ref) => informers.ensure(ref)),
    informers.ensure(Domain, { indexes: DOMAIN_INDEXES }),
  ];
  const server = await startAdmissionServer({
    host: listen.host,
    port: listen.port,
    path: WEBHOOK_PATH,
    handler: (request) => reviewName(request, informers.read),
    deadlineMs: DEADLINE_MS,
    log,
  });
  const abort = new AbortController();
  const registration = register(options, server, abort.signal);
  return {
    checkReadiness: () => registration.check(),
    async stop() {
      abort.abort();
      await registration.stopped;
      await server.close();
      for (const handle of handles) handle.release();
    },
  };
}

function register(
  { client, informers, listen, log }: NameWebhookOptions,
  server: AdmissionServer,
  signal: AbortSignal,
): WebhookRegistration {
  const address: WebhookAddress = listen.service
    ? { service: { ...WEBHOOK_SERVICE, path: WEBHOOK_PATH, port: 443 } }
    : { url: `https://${server.authority}${WEBHOOK_PATH}` };
  return startWebhookRegistration({
    client,
    informers,
    log,
    address,
    secret: { namespace: SYSTEM_NAMESPACE, name: WEBHOOK_SECRET },
    names: WEBHOOK_NAMES,
    owner: { ref: ClusterRole, name: WEBHOOK_ROLE },
    scope: WEBHOOK_SCOPE,
    hosts: [listen.service ? `${WEBHOOK_SERVICE.name}.${WEBHOOK_SERVICE.namespace}.svc` : listen.host],
    lifetimes: listen.lifetimes ?? DEFAULT_CERTIFICATE_LIFETIMES,
    fieldManager: `${CONTROLLER_FIELD_MANAGER_PREFIX}webhook`,
    setCertificate: (pair) => server.setCertificate(pair),
    signal,
  });
}

/**
 * Refuses a name that another object has and claims. When in doubt it allows: writes of the API, which holds the claim already, and a
 * claim whose object does not exist (yet).
 * @throws NotSynced, NotPermitted
 */
export async function reviewName(
  { kind, operation, object, oldObject, fieldManager }: AdmissionRequest,
  read: Reader,
): Promise<AdmissionDecision> {
  const claimedKind = CLAIMED_KINDS.find(({ ref }) => ref.kind === kind.kind && ref.group === kind.group);
  if (!claimedKind || !object || fieldManager === API_FIELD_MANAGER) return ALLOWED;
  const requestedName = await findNameOfObject(kind.kind, object, read);
  if (
    !requestedName ||
    (operation === "UPDATE" && isSameName(requestedName, await findNameOfObject(kind.kind, oldObject, read)))
  )
    return ALLOWED;
  const claim = read.find(Claim, { namespace: SYSTEM_NAMESPACE, name: claimObjectName(requestedName) });
  if (!claim || isClaimant(claim, kind.kind, object)) return ALLOWED;
  const currentName = await findClaimantName(claim.spec.claimant, {
    find: (ref, key) => Promise.resolve(read.find(ref, key)),
    read,
  });
  if (!isSameName(requestedName, currentName)) return ALLOWED;
  return {
    allowed: false,
    code: 422,
    reason: "Invalid",
    message: `the name is taken by another ${claimedKind.what}: choose another one, or wait until that one is renamed or deleted`,
  };
}

async function findNameOfObject(
  kind: string,
  object: KubeObject | undefined,
  read: Reader,
): Promise<ClaimedName | undefined> {
  if (!object) return undefined;
  const { name, namespace } = object.metadata;
  return findClaimantName(
    { kind, name, ...(namespace && { namespace }) },
    { find: <T extends KubeObject>() => Promise.resolve(object as T), read },
  );
}

function isSameName(a: ClaimedName, b: ClaimedName | undefined): boolean {
  return a.scope === b?.scope && a.claimed === b.claimed;
}
