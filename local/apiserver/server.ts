// Starts a Kubernetes-compatible API server in this process.
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createPolicyAdmission } from "./admission/admission.ts";
import { createWebhookAdmission } from "./admission/webhooks/webhooks.ts";
import { createAuth } from "./auth/auth.ts";
import { builtinKinds } from "./builtin/kinds.ts";
import type { KeyPair } from "../../kube/server/pki.ts";
import { openCertificates } from "./certificates.ts";
import type { AdmissionRequest, Auth, PolicyAdmission, ResourceReader, UserInfo, WebhookAdmission } from "./types.ts";
import { crdRules } from "./crd/rules.ts";
import { serveCrds } from "./crd/serve.ts";
import { createPaths } from "./discovery/paths.ts";
import { cleanUpCrds } from "./gc/crd-cleanup.ts";
import { expireEvents } from "./gc/events.ts";
import { collectGarbage } from "./gc/garbage-collector.ts";
import { keepNamespaces } from "./gc/namespaces.ts";
import { listen } from "./http/listener.ts";
import { createCatalogue, type Catalogue } from "./registry/catalogue.ts";
import type { Core } from "./registry/core.ts";
import { createReader, createWriter } from "./registry/system.ts";
import { StatusError } from "./status.ts";
import { openStore, type Store } from "./storage/store.ts";

export interface ApiServerOptions {
  /** Folder of all state: database, keys, certificates. Made when missing. One server at a time. */
  dir: string;
  /** 0 = a free one. */
  port: number;
  host: string;
  /** Bearer tokens that are always good: token to user (name and groups). */
  tokens?: Map<string, UserInfo>;
  /** More host names and addresses for the certificate; localhost and 127.0.0.1 are always in. */
  names?: string[];
  /** Called with errors that no client caused. Default: they are dropped. */
  onError?: (error: unknown) => void;
}

export interface ApiServer {
  /** `https://host:port`. */
  url: string;
  port: number;
  /** The authority of server and client certificates, PEM. */
  ca: string;
  /** A client certificate of the server's own authority. */
  issueClient(user: string, groups: string[]): Promise<KeyPair>;
  /** Stored objects, from memory. */
  reader: ResourceReader;
  /** The version of the last write. */
  version(): number;
  /** Ends watches, finishes running requests, closes the database. */
  stop(): Promise<void>;
}

const OWN_NAMES = ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"];
const RBAC_GROUP = "rbac.authorization.k8s.io";

/** The escalation checks of RBAC kinds, then policies, then webhooks. */
function admission(policies: PolicyAdmission, webhooks: WebhookAdmission, auth: Pick<Auth, "checkRbacWrite">) {
  return async (request: AdmissionRequest): Promise<string[]> => {
    if (request.gvr.group === RBAC_GROUP) auth.checkRbacWrite(request);
    const result = await policies.admit(request);
    if (!result.allowed) throw new StatusError(result.status, result.warnings);
    return [...result.warnings, ...(await webhooks.validate(request))];
  };
}

/** Without admission, which needs the core itself. */
function createCore(store: Store, catalogue: Catalogue): Core {
  return {
    store,
    catalogue,
    admit: () => Promise.resolve([]),
    mutate: ({ object }) => Promise.resolve({ object, warnings: [] }),
    now: Date.now,
    newUid: randomUUID,
    random: Math.random,
  };
}

function addVirtualResources(
  catalogue: Catalogue,
  { virtualResources }: Pick<Auth, "virtualResources">,
  kinds: ReturnType<typeof builtinKinds>["virtual"],
): void {
  for (const each of virtualResources) {
    const kind = kinds.find(({ group, resource }) => group === each.gvr.group && resource === each.gvr.resource);
    catalogue.addVirtual({ ...each, singular: kind?.singular ?? each.gvk.kind.toLowerCase() });
  }
}

function urlOf(host: string, port: number): string {
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

async function startCollectors(core: Core, ca: string, onError: (error: unknown) => void): Promise<(() => void)[]> {
  return [
    await keepNamespaces(core, ca, onError),
    collectGarbage(core, onError),
    cleanUpCrds(core, onError),
    expireEvents(core, onError),
  ];
}

/** Starts the server; resolves when it answers. Rejects when the folder is in use or the port is taken. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { dir, host, onError = () => {} } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const certificates = await openCertificates(join(dir, "pki"), [...OWN_NAMES, ...(options.names ?? [])]);
  const store = openStore(join(dir, "state.db"), onError);
  const catalogue = createCatalogue();
  const stopped = new AbortController();
  const ends: (() => void | Promise<void>)[] = [() => store.close()];
  const stop = async () => {
    stopped.abort();
    for (const end of ends.toReversed()) await end();
  };
  try {
    const core = createCore(store, catalogue);
    const { types, virtual } = builtinKinds({ CustomResourceDefinition: crdRules(Date.now) });
    for (const type of types) catalogue.add(type);
    ends.push(serveCrds(store, catalogue, onError));
    const reader = createReader(core);
    const auth = await createAuth({
      reader,
      writer: createWriter(core),
      dir,
      clientCa: certificates.authority.cert,
      issuer: "https://kubernetes.default.svc.cluster.local",
      tokens: options.tokens ?? new Map(),
      now: Date.now,
    });
    ends.push(() => auth.stop());
    addVirtualResources(catalogue, auth, virtual);
    const policies = createPolicyAdmission({ reader, authorize: auth.authorize });
    const webhooks = createWebhookAdmission({ reader, authorize: auth.authorize, newUid: randomUUID });
    ends.push(...[policies, webhooks].map((each) => () => each.stop()));
    core.admit = admission(policies, webhooks, auth);
    core.mutate = webhooks.mutate;
    await auth.bootstrap();
    ends.push(...(await startCollectors(core, certificates.authority.cert, onError)));
    const listener = await listen({
      resources: { core, authorize: auth.authorize, stopped: stopped.signal },
      auth,
      handlePath: createPaths(catalogue, () => !stopped.signal.aborted),
      tls: { ...certificates.server, ca: certificates.authority.cert },
      host,
      port: options.port,
      onError,
    });
    ends.push(() => listener.close());
    return {
      url: urlOf(host, listener.port),
      port: listener.port,
      ca: certificates.authority.cert,
      issueClient: certificates.authority.issueClient,
      reader,
      version: () => store.version(),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
