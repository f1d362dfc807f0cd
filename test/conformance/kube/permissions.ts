// Users whose permissions the rows grant and revoke, and a process that runs as one of them.
import { ClusterRole, ClusterRoleBinding, RoleBinding } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { Controller } from "../../../kube/controller/controller.ts";
import { runControllers, type ControllerRun } from "../../../kube/controller/run-controllers.ts";
import { createInformers, type Informers } from "../../../kube/cache/informers.ts";
import type { InformersOptions } from "../../../kube/cache/informer-options.ts";
import { connect, log, platform, type Endpoint } from "./harness.ts";

const RBAC = "rbac.authorization.k8s.io";

/** Longest lifetime of a watch in these rows, in seconds: the bound of revocation. */
export const BOUND_SECONDS = 2;
/** Allowance for the lag of kube-apiserver's authorizer and a busy machine. */
const SLACK_MS = 3_000;
export const BOUND_MS = BOUND_SECONDS * 1000 + SLACK_MS;

export const FAST: NonNullable<InformersOptions["timing"]> = {
  backoff: { minMs: 50, maxMs: 500, jitter: 0 },
  parked: { minMs: 100, maxMs: 300, jitter: 0 },
  watchSeconds: [1, BOUND_SECONDS],
  // A watch of one second is no failure here.
  shortWatchMs: 200,
};

export interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

export const rule = (group: string, resources: string[], verbs = ["*"]): Rule => ({
  apiGroups: [group],
  resources,
  verbs,
});

/** Grants and revokes permissions of one user. */
export interface TestPermissions {
  readonly user: string;
  /** Grants exactly these rules cluster-wide. */
  grantClusterWide(rules: Rule[]): Promise<void>;
  /** Sets the rules that `inNamespace` grants. */
  role(rules: Rule[]): Promise<void>;
  grantIn(namespace: string): Promise<void>;
  revokeIn(namespace: string): Promise<void>;
  end(): Promise<void>;
}

export function testPermissionsOf(admin: KubeClient, user: string): TestPermissions {
  const apply = { fieldManager: "person", force: true };
  const subjects = [{ kind: "User", apiGroup: RBAC, name: user }];
  const to = (name: string) => ({ roleRef: { apiGroup: RBAC, kind: "ClusterRole", name }, subjects });
  return {
    user,
    async grantClusterWide(rules) {
      await admin.apply(ClusterRole, { metadata: { name: `${user}-all` }, rules }, apply);
      await admin.apply(ClusterRoleBinding, { metadata: { name: `${user}-all` }, ...to(`${user}-all`) }, apply);
    },
    role: async (rules) => void (await admin.apply(ClusterRole, { metadata: { name: `${user}-some` }, rules }, apply)),
    grantIn: async (namespace) =>
      void (await admin.apply(RoleBinding, { metadata: { name: user, namespace }, ...to(`${user}-some`) }, apply)),
    revokeIn: async (namespace) => void (await admin.delete(RoleBinding, { name: user, namespace })),
    async end() {
      for (const name of [`${user}-all`, `${user}-some`]) {
        await admin.delete(ClusterRoleBinding, { name }).catch(() => undefined);
        await admin.delete(ClusterRole, { name }).catch(() => undefined);
      }
    },
  };
}

export interface Process {
  informers: Informers;
  run: ControllerRun;
  /** Requests to the API server so far, as `METHOD path?query`. */
  requests: string[];
  stop(): Promise<void>;
}

/** Client, informers and controllers of one process, with a user's permissions. */
export function startAs(
  endpoint: Endpoint,
  user: string,
  options: Partial<InformersOptions> = {},
  controllers: Controller[] = [],
): Process {
  const requests: string[] = [];
  const own = connect(endpoint, ({ method, path }) => void requests.push(`${method} ${path}`));
  const client = own.as({ kind: "impersonate", user, groups: ["system:authenticated"] });
  const informers = createInformers({ client, log, freeze: true, timing: FAST, ...options });
  const stopping = new AbortController();
  const run = runControllers({
    client,
    controllers,
    informers,
    ownership: platform,
    signal: stopping.signal,
    log,
  });
  return {
    informers,
    run,
    requests,
    async stop() {
      stopping.abort();
      await run.stopped;
      await informers.close();
      await own.close();
    },
  };
}
