// The objects of an app in its space's namespace, as a user of Kubernetes reads them: the CF API does not show LRPs.
import { Adjustment } from "../../crds/adjustment/adjustment.ts";
import { App } from "../../crds/app/app.ts";
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { guidOf } from "../../crds/guid.ts";
import { STABLE_LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Process } from "../../crds/process/process.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { findSpace } from "../policy/find-space.ts";
import { quoteForShell } from "../shell-words.ts";

export interface AppObjects {
  namespace: string;
  /** As the CF API shows it. */
  resource: Resource;
  app: App;
  /** By type. */
  processes: Process[];
  lrps: LRP[];
  adjustments: Adjustment[];
  classes: BackendClass[];
}

/** @throws Failure, KubeError */
export async function readApp(kube: KubeClient, context: Context, name: string): Promise<AppObjects> {
  const [resource, namespace] = await Promise.all([context.app(name), getNamespace(kube, context)]);
  const labelSelector = `${STABLE_LABELS.app}=${resource.guid}`;
  const [apps, processes, lrps, adjustments, classes] = await Promise.all([
    kube.list(App, { namespace }),
    kube.list(Process, { namespace, labelSelector }),
    kube.list(LRP, { namespace, labelSelector }),
    kube.list(Adjustment, { namespace }),
    kube.list(BackendClass),
  ]);
  const app = apps.items.find((one) => guidOf(one) === resource.guid);
  if (!app) throw new Failure(`app ${name} is not in namespace ${namespace} any more`, { next: "cup apps" });
  return {
    namespace,
    resource,
    app,
    processes: processes.items.toSorted((one, other) => (one.spec.type < other.spec.type ? -1 : 1)),
    lrps: lrps.items,
    adjustments: adjustments.items,
    classes: classes.items,
  };
}

async function getNamespace(kube: KubeClient, context: Context): Promise<string> {
  const found = await findSpace(kube, context);
  if (found) return found.namespace;
  const { name } = await context.space();
  throw new Failure(`this kubeconfig user may not see the namespace of space ${name}`, {
    next: `ask a manager of the space for a role in it: cf set-space-role USER ORG ${quoteForShell(name)} SpaceDeveloper`,
  });
}

/** The process of a type. @throws Failure (usage) */
export function getProcess({ processes, resource }: AppObjects, type: string): Process {
  const found = processes.find(({ spec }) => spec.type === type);
  if (found) return found;
  const types = processes.map(({ spec }) => spec.type).join(", ") || "none";
  throw new Failure(`app ${resource.name} has no process ${type}; its processes: ${types}`, {
    kind: "usage",
    next: `cup app ${quoteForShell(resource.name)}`,
  });
}
