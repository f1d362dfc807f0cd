// The objects that a runner applies for a process: those of its LRP, or of the LRP that its newest revision would get. Pure.
import { planLRP as planDeployment } from "../../backends/runners/deployment/plan.ts";
import { planLRP as planStatefulSet } from "../../backends/runners/statefulset/plan.ts";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { guidOf } from "../../crds/guid.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { defaultInstances } from "../../crds/process/defaults.ts";
import type { Process } from "../../crds/process/process.ts";
import type { Revision } from "../../crds/revision/revision.ts";
import { planLRP } from "../../controllers/process/lrp.ts";
import type { Tenancy } from "../../controllers/shared/tenancy.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { AppObjects } from "./read-app.ts";

const RENDERERS: Readonly<Record<string, (lrp: LRP) => Draft[] | undefined>> = {
  deployment: planDeployment,
  statefulset: planStatefulSet,
};

/** Objects of Kubernetes that the runner applies, or a sentence that says why there are none. */
export type Rendering = { objects: Draft[] } | { why: string };

export function renderLRP(lrp: LRP): Rendering {
  const { class: name, rendering } = lrp.spec;
  const render = Object.hasOwn(RENDERERS, name) ? RENDERERS[name] : undefined;
  if (!render)
    return {
      why: `class ${name} generates no objects of Kubernetes that cup knows; its instances are in the status of the LRP`,
    };
  const objects = render(lrp);
  return objects
    ? { objects }
    : { why: `this cup does not know rendering ${rendering}; use one of the platform's version` };
}

/** All that the LRP of a process that does not run would be made from. */
export interface NextStart {
  revision: Revision;
  droplet: Droplet;
  tenancy: Tenancy;
  apiURL: string;
  uris: readonly string[];
}

/** The LRP that a start of the revision would make. Undefined when the revision has no such process. */
export function draftLRP(
  process: Process,
  { app, classes, resource }: Pick<AppObjects, "app" | "classes" | "resource">,
  { revision, ...next }: NextStart,
): LRP | undefined {
  const snapshot = revision.spec.processes.find(({ type }) => type === process.spec.type);
  if (!snapshot) return undefined;
  const draft = planLRP(
    {
      ...next,
      process,
      processGUID: process.spec.type === "web" ? resource.guid : guidOf(process),
      app: { guid: resource.guid, name: displayNameOf(app), object: app.metadata.name },
      revision,
      snapshot,
      groupEnv: [],
      capabilities: capabilitiesOf(classes, snapshot.runner),
    },
    { instances: process.spec.instances ?? defaultInstances(process.spec.type) },
  );
  return draft as unknown as LRP;
}

function capabilitiesOf(classes: readonly BackendClass[], name: string): Record<string, string> {
  return classes.find(({ metadata }) => metadata.name === name)?.status?.capabilities ?? {};
}
