// The variables of a Revision: their values are in an immutable Secret that only the platform reads, after RBAC allowed it.
import { App } from "../../../crds/app/app.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Revision } from "../../../crds/revision/revision.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import { accessSecret } from "../../access/rbac-lag.ts";
import type { Session } from "../../access/session.ts";

/** Name to value. A variable whose Secret is gone, or is not the app's, reads as empty. @throws CFError 403 */
export async function readRevisionVariables(
  session: Session,
  app: App,
  revision: Revision,
): Promise<Record<string, string>> {
  const { namespace = "", name } = revision.metadata;
  session.authorize({ verb: "get", on: Revision, subresource: "secrets", namespace, name });
  return await readForRollback(session, app, revision);
}

/** As in CF, whoever may deploy the app may return to a revision, though a supporter may not read its variables. Call it after RBAC allowed the Rollout. */
export async function readForRollback(session: Session, app: App, revision: Revision): Promise<Record<string, string>> {
  const names = revision.spec.env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.name ?? []);
  const secrets = new Map<string, ObjectOf<typeof Secret> | undefined>();
  for (const secret of new Set(names)) secrets.set(secret, await findSnapshot(session, app, secret));
  return Object.fromEntries(
    revision.spec.env.map(({ name: variable, value, valueFrom }) => {
      const data = secrets.get(valueFrom?.secretKeyRef.name ?? "")?.data?.[valueFrom?.secretKeyRef.key ?? ""];
      return [variable, value ?? Buffer.from(data ?? "", "base64").toString("utf8")];
    }),
  );
}

/** Only a Secret that a snapshot of this app made: a Revision names no other, but the check costs nothing. */
async function findSnapshot(session: Session, app: App, name: string): Promise<ObjectOf<typeof Secret> | undefined> {
  const { signal, platformClient } = session;
  const key = { namespace: app.metadata.namespace ?? "", name };
  const secret = await accessSecret(() => platformClient.find(Secret, key, { signal }), signal);
  const isOurs =
    secret?.["immutable"] === true && secret.metadata.labels?.[LABELS.app] === session.cache.guid(App, app);
  return isOurs ? secret : undefined;
}
