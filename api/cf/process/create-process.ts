// Creates the Process of an app, or patches the one that a controller created first.
import { App } from "../../../crds/app/app.ts";
import { LABELS } from "../../../crds/labels.ts";
import { processName } from "../../../crds/process/defaults.ts";
import { Process } from "../../../crds/process/process.ts";
import type { Draft } from "../../../kube/client/client.ts";
import type { Session } from "../../access/session.ts";
import { CFError } from "../../http/errors.ts";
import { appOwnerReferences } from "../app/owner-app.ts";
import { requireChangeQuota } from "../quota/check.ts";
import { withoutNulls } from "../without-nulls.ts";
import { processesOf } from "./processes.ts";

/** Creates a process, or patches the existing one, which a controller may have just created. */
export async function createOrPatchProcess(
  session: Session,
  app: App,
  type: string,
  spec: Record<string, unknown>,
): Promise<Process> {
  const known = processesOf(session, app).find((process) => process.spec.type === type);
  if (known)
    requireChangeQuota(session, {
      app,
      before: known,
      after: { ...known, spec: { ...known.spec, ...withoutNulls(spec) } },
    });
  if (known)
    return Object.keys(spec).length === 0 ? known : session.patch(Process, known, { type: "merge", body: { spec } });
  const draft = toProcess(app, { type, appGUID: session.cache.guid(App, app) }, withoutNulls(spec));
  try {
    return await session.create(Process, draft, processTakenError);
  } catch (error) {
    if (!(error instanceof CFError && error.key === "UniquenessError")) throw error;
    return session.patch(Process, draft as unknown as Process, { type: "merge", body: { spec } });
  }
}

/** A Process to create, with the label that the controller would add by one write more. The web process gets no GUID of its own. */
function toProcess(
  app: App,
  { type, appGUID }: { type: string; appGUID: string },
  spec: Record<string, unknown>,
): Draft {
  return {
    metadata: {
      name: processName(app.metadata.name, type),
      namespace: app.metadata.namespace,
      labels: { [LABELS.app]: appGUID },
      ownerReferences: appOwnerReferences(app),
    },
    spec: { ...spec, appRef: { name: app.metadata.name }, type },
  };
}

function processTakenError(): CFError {
  return new CFError("UniquenessError", "The process exists already.");
}
