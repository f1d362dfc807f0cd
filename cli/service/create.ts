// `cup create-service`, `create-user-provided-service` and `delete-service`.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { confirm } from "../confirm.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { quoteForShell } from "../shell-words.ts";
import { followOperation, type WaitOptions } from "./follow-operation.ts";
import { getInstance, listBindings, tellOperation, type Instance, type Plan } from "./instance.ts";
import { toJSONObject } from "./json-option.ts";
import { notOffered, readMarketplace, type Offered } from "./marketplace.ts";

export interface CreateOptions extends WaitOptions {
  plan?: string;
  parameters?: string;
  tags?: string;
}

export async function createService(
  context: Context,
  offering: string,
  name: string,
  options: CreateOptions,
): Promise<Result> {
  const { api, progress } = context;
  const parameters = options.parameters === undefined ? undefined : toJSONObject(options.parameters, "--parameters");
  const plan = choosePlan(await readMarketplace(context, offering), offering, options.plan);
  progress.step(`Creating ${name} of ${offering}, plan ${plan.name}`);
  const body = {
    type: "managed",
    name,
    relationships: { ...(await spaceRelationship(context)), service_plan: { data: { guid: plan.guid } } },
    ...omitUndefined({ parameters, tags: toTags(options.tags) }),
  };
  const { job } = await api.start("POST", "/v3/service_instances", { body });
  const word = quoteForShell(name);
  const { guid } = await getInstance(context, name);
  const path = `/v3/service_instances/${guid}`;
  if (options.wait !== false) await followOperation(context, { job, path, next: `cup service ${word}` });
  const instance = await api.request<Instance>("GET", path);
  const isMade = instance.last_operation?.state === "succeeded";
  return {
    json: instance,
    text: isMade
      ? [`${name} is there. Next: cup bind APP ${word}`]
      : [`${name}: ${tellOperation(instance.last_operation)}. Next: cup service ${word}`],
  };
}

/** Without a name the only plan counts. Pure. @throws Failure */
export function choosePlan(offered: readonly Offered[], offering: string, name: string | undefined): Plan {
  if (offered.length === 0) throw notOffered(offering);
  const plans = offered.flatMap((one) => one.plans);
  const found = name === undefined ? plans : plans.filter((plan) => plan.name === name);
  const [only, ...more] = found;
  const next = `cup marketplace ${quoteForShell(offering)}`;
  if (!only) throw new Failure(`${offering} has no plan ${name ?? ""} that this space may use`, { next });
  if (more.length === 0) return only;
  if (name !== undefined)
    throw new Failure(`several brokers offer plan ${name} of ${offering}`, { next: "cf create-service … -b BROKER" });
  throw new Failure(`which plan of ${offering}? ${plans.map((plan) => plan.name).join(", ")}`, {
    kind: "usage",
    next: `the same again with --plan ${quoteForShell(only.name)}`,
  });
}

export interface ProvideOptions {
  credentials?: string;
  syslogDrain?: string;
  tags?: string;
}

export async function createUserProvided(context: Context, name: string, options: ProvideOptions): Promise<Result> {
  const credentials =
    options.credentials === undefined ? undefined : toJSONObject(options.credentials, "--credentials");
  const instance = await context.api.request<Instance>("POST", "/v3/service_instances", {
    body: {
      type: "user-provided",
      name,
      relationships: await spaceRelationship(context),
      ...omitUndefined({ credentials, syslog_drain_url: options.syslogDrain, tags: toTags(options.tags) }),
    },
  });
  return { json: instance, text: [`${name} is there. Next: cup bind APP ${quoteForShell(name)}`] };
}

export async function deleteService(
  context: Context,
  name: string,
  options: WaitOptions & { force?: boolean },
): Promise<Result> {
  const { api, progress } = context;
  const instance = await getInstance(context, name);
  const bindings = await listBindings(context, instance);
  const also =
    bindings.length === 0 ? "" : ` with ${bindings.length} ${bindings.length === 1 ? "binding" : "bindings"}`;
  await confirm(`Delete service instance ${name}${also} and its data?`, options.force);
  progress.step(`Deleting ${name}${also}`);
  const path = `/v3/service_instances/${instance.guid}`;
  const { job } = await api.start("DELETE", path);
  const word = quoteForShell(name);
  if (options.wait !== false) await followOperation(context, { job, path, next: `cup service ${word}` });
  const isWaited = options.wait !== false || job === undefined;
  return {
    json: { deleted: instance.guid, done: isWaited },
    text: [isWaited ? `${name} is gone.` : `${name} is being deleted. Next: cup service ${word}`],
  };
}

async function spaceRelationship({ space }: Context): Promise<{ space: { data: { guid: string } } }> {
  return { space: { data: { guid: (await space()).guid } } };
}

function toTags(text: string | undefined): string[] | undefined {
  return text
    ?.split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "");
}
