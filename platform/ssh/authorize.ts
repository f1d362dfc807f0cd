// Decides who may open a shell in which instance: a code says who asks, the cluster what they may.
import { App } from "../../crds/app/app.ts";
import { findSSHProblem } from "../../crds/app/ssh.ts";
import { guidOf } from "../../crds/guid.ts";
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import type { SSHCaller, SSHCodes } from "../../api/identity/ssh-codes.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Namespace, SubjectAccessReview } from "../../kube/api/builtin.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";

/** Kinds that the decision reads, and the one that says how a runner opens shells. */
export const SSH_KINDS = [App, BackendClass, LRP, Namespace, Org, Space] as const;

const REVIEW_MS = 5_000;
const USER = /^cf:([\w-]{1,63})\/(\d{1,5})$/;

/** An instance, and who may open shells in it. */
export interface SSHTarget {
  who: SSHCaller;
  app: App;
  processGUID: string;
  index: number;
}

/** `app` is known where the app is, for the audit. The reason is for the log, not for the client. */
export interface SSHRefusal {
  reason: string;
  who?: string;
  app?: App;
}

export interface AuthorizerDeps {
  client: Pick<KubeClient, "review">;
  read: Reader;
  codes: Pick<SSHCodes, "redeem">;
}

export interface Authorizer {
  /** @param user `cf:PROCESS_GUID/INDEX` @param code of /oauth/authorize. @throws Error when the cluster does not answer */
  authorize(user: string, code: string): Promise<SSHTarget | SSHRefusal>;
  /** Whether the target is still allowed; asked while its sessions are open. @throws as `authorize` */
  isAllowed(target: SSHTarget): Promise<boolean>;
}

export function createAuthorizer(deps: AuthorizerDeps): Authorizer {
  return {
    async authorize(user, code) {
      const who = await deps.codes.redeem(code);
      if (!who) return { reason: "the code was used, is expired, of another installation, or none" };
      const [, processGUID = "", index = ""] = USER.exec(user) ?? [];
      const app = findApp(deps.read, processGUID);
      if (!app) return { reason: "no such process runs", who: who.name };
      const problem = await findProblem(deps, who, app);
      return problem === undefined
        ? { who, app, processGUID, index: Number(index) }
        : { reason: problem, who: who.name, app };
    },
    async isAllowed({ who, processGUID }) {
      const app = findApp(deps.read, processGUID);
      return app !== undefined && (await findProblem(deps, who, app)) === undefined;
    },
  };
}

/** The LRP that runs a process now; the younger one while a version replaces another. */
export function findRunningLRP(read: Reader, processGUID: string): LRP | undefined {
  return read
    .list(LRP, { labels: { [LABELS.process]: processGUID }, partial: true })
    .filter(({ spec, metadata }) => spec.processGUID === processGUID && !metadata.deletionTimestamp)
    .toSorted((a, b) => ((a.metadata.creationTimestamp ?? "") < (b.metadata.creationTimestamp ?? "") ? 1 : -1))[0];
}

function findApp(read: Reader, processGUID: string): App | undefined {
  const lrp = processGUID === "" ? undefined : findRunningLRP(read, processGUID);
  return (
    lrp && read.list(App, { namespace: lrp.metadata.namespace ?? "" }).find((app) => guidOf(app) === lrp.spec.app.guid)
  );
}

async function findProblem(
  { client, read }: Pick<AuthorizerDeps, "client" | "read">,
  who: SSHTarget["who"],
  app: App,
): Promise<string | undefined> {
  const { namespace = "", name } = app.metadata;
  const labels = read.find(Namespace, { name: namespace })?.metadata.labels;
  const space = read.byUid(Space, labels?.[LABELS.ownerUid] ?? "");
  const problem = findSSHProblem(app, space, { isServed: true });
  if (problem !== undefined) return problem;
  const may = { verb: "create", on: App, subresource: "ssh", namespace, name };
  if (!(await isAllowed(client, who, may))) return "the user may not: create on apps/ssh is missing";
  if (labels?.[LABELS.suspended] === undefined) return undefined;
  // As for every write into a suspended space: whoever may update all orgs is an admin.
  return (await isAllowed(client, who, { verb: "update", on: Org })) ? undefined : "the space or its org is suspended";
}

interface Asked {
  verb: string;
  on: ResourceRef;
  subresource?: string;
  namespace?: string;
  name?: string;
}

async function isAllowed(
  client: Pick<KubeClient, "review">,
  { name: user, groups, uid, extra }: SSHTarget["who"],
  { on, ...attributes }: Asked,
): Promise<boolean> {
  const resourceAttributes = { group: on.group, version: on.version, resource: on.plural, ...attributes };
  const spec = { user, groups, ...(uid && { uid }), ...(extra && { extra }), resourceAttributes };
  const { status } = await client.review(SubjectAccessReview, { spec }, { deadlineMs: REVIEW_MS });
  return status?.allowed === true;
}
