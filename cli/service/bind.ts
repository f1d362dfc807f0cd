// `cup bind` and `cup unbind`.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { quoteForShell } from "../shell-words.ts";
import { followOperation, type WaitOptions } from "./follow-operation.ts";
import { getInstance, listBindings, tellOperation, type Binding } from "./instance.ts";
import { toJSONObject } from "./json-option.ts";

export interface BindOptions extends WaitOptions {
  name?: string;
  parameters?: string;
}

const BINDINGS = "/v3/service_credential_bindings";

export async function bind(context: Context, appName: string, service: string, options: BindOptions): Promise<Result> {
  const { api, progress } = context;
  const parameters = options.parameters === undefined ? undefined : toJSONObject(options.parameters, "--parameters");
  const [app, instance] = await Promise.all([context.app(appName), getInstance(context, service)]);
  progress.step(`Binding ${service} to ${appName}`);
  const { job, body } = await api.start("POST", BINDINGS, {
    body: {
      type: "app",
      relationships: { app: { data: { guid: app.guid } }, service_instance: { data: { guid: instance.guid } } },
      ...omitUndefined({ name: options.name, parameters }),
    },
  });
  const next = `cup service ${quoteForShell(service)}`;
  const guid = (body as Partial<Binding>).guid ?? (await findNewest(context, { instance, app }, next));
  const path = `${BINDINGS}/${guid}`;
  if (options.wait !== false) await followOperation(context, { job, path, next });
  const binding = await api.request<Binding>("GET", path);
  return { json: binding, text: [tellBinding(binding, { app: appName, service, next })] };
}

/** The answer about a managed instance names a job alone. @throws Failure when the binding is gone again */
async function findNewest(
  context: Context,
  { instance, app }: { instance: Resource; app: Resource },
  next: string,
): Promise<string> {
  const newest = (await listBindings(context, instance, app)).at(-1);
  if (newest) return newest.guid;
  throw new Failure("the binding was deleted meanwhile", { next });
}

function tellBinding(
  { last_operation: last }: Binding,
  { app, service, next }: { app: string; service: string; next: string },
): string {
  return last?.state === "succeeded"
    ? `${app} finds ${service} from its next start on. Next: cup restart ${quoteForShell(app)}`
    : `The binding of ${service} to ${app}: ${tellOperation(last)}. Next: ${next}`;
}

export async function unbind(
  context: Context,
  appName: string,
  service: string,
  options: WaitOptions,
): Promise<Result> {
  const { api, progress } = context;
  const [app, instance] = await Promise.all([context.app(appName), getInstance(context, service)]);
  const bindings = await listBindings(context, instance, app);
  const next = `cup service ${quoteForShell(service)}`;
  if (bindings.length === 0) throw new Failure(`${service} is not bound to ${appName}`, { next });
  progress.step(`Unbinding ${service} from ${appName}`);
  for (const { guid } of bindings) {
    const path = `${BINDINGS}/${guid}`;
    const { job } = await api.start("DELETE", path);
    if (options.wait !== false) await followOperation(context, { job, path, next });
  }
  return {
    json: { unbound: bindings.map(({ guid }) => guid) },
    text: [`${appName} finds ${service} no more from its next start on. Next: cup restart ${quoteForShell(appName)}`],
  };
}
