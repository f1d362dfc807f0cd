// Admission by webhooks: mutating ones one after the other, validating ones all at once.
import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../../kube/api/object.ts";
import type { AdmissionRequest, Authorize, ResourceReader, WebhookAdmission } from "../../types.ts";
import { jsonPatch } from "../../patch/json-patch.ts";
import { internal, StatusError } from "../../status.ts";
import { isExempt } from "../match.ts";
import { createCaller, type Caller } from "./call.ts";
import { followHooks, invocationOf, isIgnored, refusalOf, type Hook } from "./hooks.ts";

export interface WebhookDeps {
  reader: ResourceReader;
  authorize: Authorize;
  newUid: () => string;
}

type Decode = (patched: KubeObject) => KubeObject;

/** Follows both kinds of configuration. */
export function createWebhookAdmission({ reader, authorize, newUid }: WebhookDeps): WebhookAdmission {
  const caller = createCaller(newUid);
  const mutating = followHooks(reader, "mutatingwebhookconfigurations");
  const validating = followHooks(reader, "validatingwebhookconfigurations");
  return {
    mutate: async (request, decode) => {
      const hooks = isExempt(request) ? [] : mutating.list();
      return hooks.length === 0
        ? { object: request.object, warnings: [] }
        : await mutate(hooks, request, { caller, authorize, decode });
    },
    validate: async (request) => {
      const hooks = isExempt(request) ? [] : validating.list();
      return hooks.length === 0 ? [] : await validate(hooks, request, { caller, authorize });
    },
    stop: async () => {
      mutating.stop();
      validating.stop();
      await caller.stop();
    },
  };
}

interface Means {
  caller: Caller;
  authorize: Authorize;
}

async function validate(hooks: Hook[], request: AdmissionRequest, { caller, authorize }: Means): Promise<string[]> {
  const invocations = hooks.flatMap((hook) => invocationOf(hook, request, authorize) ?? []);
  const answers = await Promise.all(
    invocations.map(async (invocation) => {
      try {
        return await caller.call(invocation, request, false);
      } catch (error) {
        return isIgnored(invocation.hook, error)
          ? { warnings: [] }
          : { warnings: [], refusal: refusalOf(error, internal) };
      }
    }),
  );
  const refused = answers.find((answer) => answer.refusal !== undefined);
  if (refused) throw refused.refusal;
  return answers.flatMap(({ warnings }) => warnings);
}

/** The state of one write on its way through the mutating webhooks. */
interface Passage {
  object: KubeObject | undefined;
  warnings: string[];
  isChanged: boolean;
  /** Asked, and to be asked again should a later one change the object. */
  asked: Set<string>;
  /** To be asked in the second round. */
  again: Set<string>;
}

/** Two rounds at most: the second asks those with reinvocationPolicy IfNeeded that a later change concerns. */
async function mutate(
  hooks: Hook[],
  request: AdmissionRequest,
  means: Means & { decode: Decode },
): Promise<{ object: KubeObject | undefined; warnings: string[] }> {
  const passage: Passage = {
    object: request.object,
    warnings: [],
    isChanged: false,
    asked: new Set(),
    again: new Set(),
  };
  for (const hook of hooks) await pass(hook, request, passage, means);
  if (passage.isChanged)
    for (const hook of hooks) if (passage.again.has(hook.id)) await pass(hook, request, passage, means);
  return { object: passage.object, warnings: passage.warnings };
}

async function pass(
  hook: Hook,
  original: AdmissionRequest,
  passage: Passage,
  { caller, authorize, decode }: Means & { decode: Decode },
): Promise<void> {
  const request = { ...original, object: passage.object };
  const invocation = invocationOf(hook, request, authorize);
  if (!invocation) return;
  try {
    const { refusal, patch, warnings } = await caller.call(invocation, request, true);
    passage.warnings.push(...warnings);
    if (refusal) throw refusal;
    if (patch) change(passage, patched(hook, passage.object, patch, decode));
  } catch (error) {
    if (!isIgnored(hook, error)) throw refusalOf(error, internal);
  }
  if (hook.webhook.reinvocationPolicy === "IfNeeded") passage.asked.add(hook.id);
}

function change(passage: Passage, object: KubeObject): void {
  if (isDeepStrictEqual(object, passage.object)) return;
  passage.object = object;
  passage.isChanged = true;
  for (const id of passage.asked) passage.again.add(id);
  passage.asked.clear();
}

function patched(hook: Hook, object: KubeObject | undefined, patch: unknown[], decode: Decode): KubeObject {
  if (!object)
    throw internal(
      `admission webhook ${JSON.stringify(hook.webhook.name)} attempted to modify the object, which is not supported for this operation`,
    );
  try {
    const copy = jsonPatch(structuredClone(object), patch);
    return decode({ ...copy, apiVersion: object.apiVersion, kind: object.kind });
  } catch (error) {
    if (error instanceof StatusError)
      throw internal(
        `admission webhook ${JSON.stringify(hook.webhook.name)} returned a patch that does not fit: ${error.message}`,
      );
    throw error;
  }
}
