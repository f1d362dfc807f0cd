// `cup render`: the App, Process and Route objects that a push would write, for `kubectl apply --server-side` or a GitOps repository.
import { stringify } from "yaml";
import { z } from "zod";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { SpecInput } from "../../kube/api/resource.ts";
import { App } from "../../crds/app/app.ts";
import { objectNameFor } from "../../crds/object-names.ts";
import { Process } from "../../crds/process/process.ts";
import { effectiveHealthCheck, processName } from "../../crds/process/defaults.ts";
import { Route } from "../../crds/route/route.ts";
import { toMegabytes } from "../app/to-megabytes.ts";
import type { Context } from "../context.ts";
import type { Result } from "../output.ts";
import { readManifest, type Application } from "./manifest.ts";
import type { PushOptions } from "./options.ts";

interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: object;
}

const size = z
  .union([z.string(), z.number()])
  .transform((value) => (typeof value === "number" ? value : toMegabytes(value)));
/** As in CF, a number may be quoted. */
const whole = z.coerce.number().pipe(z.int());
/** An entry without the lines that have no value. */
const withoutUnset = (entry: object): object =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null && value !== ""));
const processFields = z.looseObject({
  type: z.string().default("web"),
  instances: whole.optional(),
  memory: size.optional(),
  disk_quota: size.optional(),
  command: z.string().optional(),
  timeout: whole.optional(),
  "health-check-type": z.enum(["port", "http", "process", "none"]).optional(),
  "health-check-http-endpoint": z.string().optional(),
});
const appFields = processFields.extend({
  env: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  buildpacks: z.array(z.string()).optional(),
  stack: z.string().optional(),
  processes: z.array(z.looseObject({}).transform(withoutUnset).pipe(processFields)).optional(),
  routes: z.array(z.object({ route: z.string() })).optional(),
});

export async function renderCommand(context: Context, name: string | undefined, options: PushOptions): Promise<Result> {
  const manifest = readManifest(name, options);
  const org = await context.org();
  const domains = (await context.api.list(`/v3/organizations/${org.guid}/domains`)).map((domain) => domain.name);
  const defaultDomain = await context.api
    .request<{ name: string }>("GET", `/v3/organizations/${org.guid}/domains/default`)
    .catch(() => undefined);
  const objects = manifest.applications.flatMap((app) => {
    const [first, ...parts] = renderApp(app, { domains, defaultDomain: defaultDomain?.name ?? domains[0] });
    // `kubectl delete -f` goes from the first to the last, and an App takes its Processes with it.
    return first ? [...parts, first] : parts;
  });
  return {
    json: objects,
    text: [
      objects
        .map((object) => stringify(object))
        .join("---\n")
        .trimEnd(),
    ],
  };
}

/** The objects of one application, the App first. Pure. */
export function renderApp(
  app: Application,
  { domains, defaultDomain }: { domains: readonly string[]; defaultDomain: string | undefined },
): Rendered[] {
  const parsed = appFields.parse(withoutUnset(app));
  const objectName = objectNameFor(app.name, "app");
  return [
    object(App, objectName, toAppSpec(app, parsed, objectName)),
    ...processesOf(parsed).map((process) =>
      object(Process, processName(objectName, process.type), toProcess(objectName, process)),
    ),
    ...routesOf(app, parsed.routes, defaultDomain).map((address) => toRoute(address, objectName, domains)),
  ];
}

function toAppSpec(
  app: Application,
  { buildpacks, stack, env = {} }: z.output<typeof appFields>,
  objectName: string,
): SpecInput<typeof App> {
  const lifecycle = app.docker?.image ? { type: "docker" as const } : omitUndefined({ buildpacks, stack });
  const variables = Object.entries(env).map(([name, value]) => ({ name, value: String(value) }));
  return {
    ...(objectName !== app.name && { name: app.name }),
    state: "Started",
    ...(Object.keys(lifecycle).length > 0 && { lifecycle }),
    ...(variables.length > 0 && { env: variables }),
  };
}

/** Process keys of the app itself are the web process's, unless it has an entry of its own. */
function processesOf(parsed: z.output<typeof appFields>): z.output<typeof processFields>[] {
  const extra = parsed.processes ?? [];
  return extra.some((process) => process.type === "web") ? extra : [{ ...parsed, type: "web" }, ...extra];
}

function object(ref: ResourceRef, name: string, spec: object): Rendered {
  return { apiVersion: apiVersionOf(ref), kind: ref.kind, metadata: { name }, spec };
}

function toProcess(app: string, process: z.output<typeof processFields>): SpecInput<typeof Process> {
  const { type, instances, memory: memoryMB, disk_quota: diskMB, command } = process;
  return {
    appRef: { name: app },
    type,
    ...omitUndefined({ instances, memoryMB, diskMB, command, healthCheck: toHealthCheck(process) }),
  };
}

function toHealthCheck(process: z.output<typeof processFields>): SpecInput<typeof Process>["healthCheck"] {
  const { "health-check-type": given, "health-check-http-endpoint": endpoint, timeout: timeoutSeconds } = process;
  if ([given, endpoint, timeoutSeconds].every((field) => field === undefined)) return undefined;
  const type = given === "none" ? "process" : (given ?? effectiveHealthCheck(process.type, undefined).type);
  return { type, ...omitUndefined({ endpoint, timeoutSeconds }) };
}

function routesOf(
  app: Application,
  routes: { route: string }[] | undefined,
  defaultDomain: string | undefined,
): string[] {
  if (app["no-route"] === true) return [];
  if (routes) return routes.map(({ route }) => route);
  return defaultDomain ? [`${objectNameFor(app.name, "app")}.${defaultDomain}`] : [];
}

/** The longest domain that ends the address is its domain. */
function toRoute(address: string, app: string, domains: readonly string[]): Rendered {
  const [hostname = "", ...segments] = address.replace(/^https?:\/\//, "").split("/");
  const folded = hostname.toLowerCase();
  const domain =
    [...domains]
      .sort((one, other) => other.length - one.length)
      .find((name) => folded === name || folded.endsWith(`.${name}`)) ?? folded;
  const host = folded === domain ? "" : hostname.slice(0, -domain.length - 1);
  const rest = segments.join("/");
  const path = rest ? `/${rest}` : "";
  const spec: SpecInput<typeof Route> = {
    ...(host && { host }),
    ...(path && { path }),
    domainRef: { name: domain },
    destinations: [{ app }],
  };
  return object(Route, objectNameFor(address, "route"), spec);
}
