// The webhooks that are configured, in the order they are asked, and which of them a write concerns.
import type { KubeObject } from "../../../../kube/api/object.ts";
import { compileExpression, defaultSteps, type Program } from "../../../../kube/cel/program.ts";
import { BudgetError, CelError } from "../../../../kube/cel/values.ts";
import type { AdmissionRequest, Authorize, ResourceReader } from "../../types.ts";
import { forbidden, type StatusError } from "../../status.ts";
import { admissionGroup, wantedVersion } from "../match.ts";
import { conditionsHold } from "../../../../kube/admission/policy/policy.ts";
import type { Webhook, WebhookConfiguration } from "../../../../kube/admission/policy/types.ts";
import { requestVariables } from "../variables.ts";

/** A webhook of one configuration. */
export interface Hook {
  /** Unique, and the same as long as the configuration is. */
  id: string;
  webhook: Webhook;
  conditions: Program[];
  /** Why its conditions cannot be asked; such a configuration is not accepted, but may have been stored before. */
  broken: string | undefined;
}

/** A hook to call, with the request in the version that it wants. */
export interface Invocation {
  hook: Hook;
  request: AdmissionRequest;
}

export interface Hooks {
  /** Configurations by name, webhooks as they stand in them. */
  list(): Hook[];
  stop(): void;
}

/** Follows one kind of configuration; a write is judged by what was committed before it. */
export function followHooks(reader: ResourceReader, resource: string): Hooks {
  const byName = new Map<string, Hook[]>();
  let sorted: Hook[] = [];
  const set = (name: string, object: KubeObject | undefined) => {
    if (object) byName.set(name, hooksOf(object as WebhookConfiguration));
    else byName.delete(name);
    sorted = [...byName.keys()].sort().flatMap((each) => byName.get(each) ?? []);
  };
  for (const object of reader.list(admissionGroup, resource)) set(object.metadata.name, object);
  const stop = reader.subscribe(admissionGroup, resource, (event) =>
    set(event.object.metadata.name, event.type === "DELETED" ? undefined : event.object),
  );
  return { list: () => sorted, stop };
}

function hooksOf({ metadata, webhooks = [] }: WebhookConfiguration): Hook[] {
  return webhooks.map((webhook, index) => ({
    id: `${metadata.name}/${webhook.name}/${index}`,
    webhook,
    ...compiled(webhook),
  }));
}

function compiled(webhook: Webhook): Pick<Hook, "conditions" | "broken"> {
  try {
    return {
      conditions: (webhook.matchConditions ?? []).map((one) => compileExpression(one.expression)),
      broken: undefined,
    };
  } catch (error) {
    return { conditions: [], broken: error instanceof Error ? error.message : "cannot be compiled" };
  }
}

/** How to call a hook for a request; undefined when it is not concerned. Throws 403 when its conditions cannot be evaluated and it fails closed. */
export function invocationOf(hook: Hook, request: AdmissionRequest, authorize: Authorize): Invocation | undefined {
  const version = wantedVersion(hook.webhook, request);
  if (version === undefined) return undefined;
  const asked = inVersion(request, version);
  return isConcerned(hook, asked, authorize) ? { hook, request: asked } : undefined;
}

function isConcerned({ webhook, conditions, broken }: Hook, request: AdmissionRequest, authorize: Authorize): boolean {
  if (conditions.length === 0 && broken === undefined) return true;
  const holds = broken === undefined ? evaluated(conditions, request, authorize) : broken;
  if (typeof holds === "boolean") return holds;
  if (webhook.failurePolicy === "Ignore") return false;
  throw forbidden({ group: request.gvr.group, resource: request.gvr.resource }, request.name, holds);
}

function evaluated(conditions: Program[], request: AdmissionRequest, authorize: Authorize): boolean | string {
  try {
    const holds = conditionsHold(conditions, requestVariables(request, authorize), { steps: defaultSteps });
    return holds instanceof CelError ? holds.message : holds;
  } catch (error) {
    if (error instanceof BudgetError)
      return "validation failed due to running out of cost budget, no further validation rules will be run";
    throw error;
  }
}

/** The same request about the object in another version: no field differs between them but apiVersion. */
function inVersion(request: AdmissionRequest, version: string): AdmissionRequest {
  if (version === request.gvr.version) return request;
  const convert = (object: KubeObject | undefined) =>
    object && { ...object, apiVersion: request.gvr.group ? `${request.gvr.group}/${version}` : version };
  return {
    ...request,
    gvr: { ...request.gvr, version },
    gvk: { ...request.gvk, version },
    object: convert(request.object),
    oldObject: convert(request.oldObject),
  };
}

/** A hook could not be asked: its failurePolicy decides. */
export class CallFault extends Error {
  constructor(hook: string, reason: string, options?: ErrorOptions) {
    super(`failed calling webhook ${JSON.stringify(hook)}: ${reason}`, options);
    this.name = "CallFault";
  }
}

/** Whether a fault of a call lets the write through; other errors are refusals. */
export function isIgnored({ webhook }: Hook, error: unknown): boolean {
  return error instanceof CallFault && webhook.failurePolicy === "Ignore";
}

/** Message to a client about a failed call. */
export function refusalOf(error: unknown, internal: (message: string) => StatusError): unknown {
  return error instanceof CallFault ? internal(error.message) : error;
}
