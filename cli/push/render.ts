// `cup render`: the App, Process and Route objects that a push would write, for `kubectl apply --server-side` or a GitOps repository.
import { stringify } from "yaml";
import { z } from "zod";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { apiVersionOf, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type { SpecInput } from "../../kube/api/resource.ts";
import { defaultHost, parseRoute } from "../../api/manifest/route-address.ts";
import { App } from "../../crds/app/app.ts";
import { generatedName, objectNameFor } from "../../crds/object-names.ts";
import { Package } from "../../crds/package/package.ts";
import { Process } from "../../crds/process/process.ts";
import { effectiveHealthCheck, processName } from "../../crds/process/defaults.ts";
import { Route } from "../../crds/route/route.ts";
import { toMegabytes } from "../app/to-megabytes.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";
import { readManifest, type Application } from "./manifest.ts";
import type { PushOptions } from "./options.ts";

/** An object to write. */
export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: Labelled & { name: string };
  spec: object;
}

/** As CF writes them: a value may be null, which removes the key. */
const marks = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).nullable())
  .transform((given) =>
    Object.fromEntries(Object.entries(given).flatMap(([key, value]) => (value === null ? [] : [[key, String(value)]]))),
  );
const metadata = z.object({ labels: marks.nullish(), annotations: marks.nullish() });
interface Labelled {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

const size = z
  .union([z.string(), z.number()])
  .transform((value) => (typeof value === "number" ? value : toMegabytes(value)));
/** As in CF, a number may be quoted. */
const whole = z.coerce.number().pipe(z.int());
/** An entry without the lines that have no value. */
const withoutUnset = (entry: object): object =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null && value !== ""));
/** Keys of a sidecar with dashes, as CF takes them, too. */
const sidecarFields = z.preprocess(
  (entry) =>
    typeof entry === "object" && entry !== null
      ? Object.fromEntries(Object.entries(entry).map(([key, value]) => [key.replaceAll("-", "_"), value as unknown]))
      : entry,
  z.object({ name: z.string(), command: z.string(), process_types: z.array(z.string()), memory: size.nullish() }),
);
const processFields = z.looseObject({
  type: z.string().default("web"),
  instances: whole.optional(),
  memory: size.optional(),
  disk_quota: size.optional(),
  "disk-quota": size.optional(),
  command: z.string().optional(),
  timeout: whole.optional(),
  "health-check-type": z.enum(["port", "http", "process", "none"]).optional(),
  "health-check-http-endpoint": z.string().optional(),
});
const appFields = processFields.extend({
  env: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
  lifecycle: z.enum(["buildpack", "cnb", "docker"]).optional(),
  buildpack: z.string().optional(),
  buildpacks: z.array(z.string()).optional(),
  docker: z.looseObject({ image: z.string().optional(), username: z.string().optional() }).optional(),
  metadata: metadata.optional(),
  sidecars: z.array(sidecarFields).optional(),
  stack: z.string().optional(),
  processes: z.array(z.looseObject({}).transform(withoutUnset).pipe(processFields)).optional(),
  routes: z.array(z.object({ route: z.string() })).optional(),
});

export async function renderCommand(context: Context, name: string | undefined, options: PushOptions): Promise<Result> {
  const manifest = readManifest(name, options);
  const domains = await readDomains(context);
  const objects = manifest.applications.flatMap((app) => {
    const [first, ...parts] = renderApp(app, domains);
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

/** Domains of an org; a route that a manifest does not name is on the default domain. */
export interface Domains {
  domains: readonly string[];
  defaultDomain: string | undefined;
}

/** The domains of the targeted org. */
export async function readDomains(context: Pick<Context, "api" | "org">): Promise<Domains> {
  const org = await context.org();
  const domains = (await context.api.list(`/v3/organizations/${org.guid}/domains`)).map((domain) => domain.name);
  const found = await context.api
    .request<{ name: string }>("GET", `/v3/organizations/${org.guid}/domains/default`)
    .catch(() => undefined);
  return { domains, defaultDomain: found?.name ?? domains[0] };
}

/** The objects of one application, the App first. Pure. @throws Failure (usage) */
export function renderApp(app: Application, { domains, defaultDomain }: Domains): Rendered[] {
  const parsed = parseFields(app);
  const objectName = objectNameFor(app.name, "app");
  return [
    object(App, objectName, toAppSpec(app, parsed, objectName), toLabelled(parsed.metadata)),
    ...toPackages(parsed, objectName),
    ...processesOf(parsed).map((process) =>
      object(Process, processName(objectName, process.type), toProcess(objectName, process)),
    ),
    ...routesOf(app, parsed.routes, defaultDomain).map((address) => toRoute(address, objectName, domains)),
  ];
}

function parseFields(app: Application): z.output<typeof appFields> {
  const result = appFields.safeParse(withoutUnset(app));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new Failure(`${app.name}: ${(issue?.path ?? []).join(".")}: ${issue?.message ?? "invalid"}`, { kind: "usage" });
}

function toLabelled({ labels, annotations }: z.output<typeof metadata> = {}): Labelled {
  return { ...(labels && { labels }), ...(annotations && { annotations }) };
}

/** The image of an app that is one. Its name changes with the image, which is immutable. */
function toPackages({ docker }: z.output<typeof appFields>, app: string): Rendered[] {
  if (!docker?.image) return [];
  const { image, username } = docker;
  const spec: SpecInput<typeof Package> = {
    appRef: { name: app },
    type: "docker",
    image,
    ...omitUndefined({ username }),
  };
  return [object(Package, generatedName(app, image), spec)];
}

function toAppSpec(
  app: Application,
  { env = {}, sidecars, ...fields }: z.output<typeof appFields>,
  objectName: string,
): SpecInput<typeof App> {
  const lifecycle = toLifecycle(fields);
  const variables = Object.entries(env).map(([name, value]) => ({ name, value: String(value) }));
  return {
    ...(objectName !== app.name && { name: app.name }),
    state: "Started",
    ...(Object.keys(lifecycle).length > 0 && { lifecycle }),
    ...(variables.length > 0 && { env: variables }),
    ...(sidecars && { sidecars: sidecars.map(toSidecar) }),
  };
}

type Lifecycle = NonNullable<SpecInput<typeof App>["lifecycle"]>;

function toLifecycle({
  lifecycle: type,
  docker,
  stack,
  ...given
}: Pick<z.output<typeof appFields>, "lifecycle" | "docker" | "stack" | "buildpack" | "buildpacks">): Lifecycle {
  if (type === "docker" || docker?.image) return { type: "docker" };
  const single = given.buildpack === undefined ? undefined : DETECTION.has(given.buildpack) ? [] : [given.buildpack];
  return omitUndefined({ type, buildpacks: given.buildpacks ?? single, stack });
}

/** Values of the older key `buildpack` that ask for detection. */
const DETECTION: ReadonlySet<string> = new Set(["default", "null"]);

function toSidecar({ name, command, process_types: processTypes, memory }: z.output<typeof sidecarFields>) {
  return { name, command, processTypes, ...(typeof memory === "number" && { memoryMB: memory }) };
}

/** Process keys of the app itself are the web process's, unless it has an entry of its own. */
function processesOf(parsed: z.output<typeof appFields>): z.output<typeof processFields>[] {
  const extra = parsed.processes ?? [];
  return extra.some((process) => process.type === "web") ? extra : [{ ...parsed, type: "web" }, ...extra];
}

function object(ref: ResourceRef, name: string, spec: object, labelled: Labelled = {}): Rendered {
  return { apiVersion: apiVersionOf(ref), kind: ref.kind, metadata: { name, ...labelled }, spec };
}

function toProcess(app: string, process: z.output<typeof processFields>): SpecInput<typeof Process> {
  const { type, instances, memory: memoryMB, command } = process;
  const diskMB = process.disk_quota ?? process["disk-quota"];
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
  return defaultDomain ? [`${defaultHost(app.name) ?? objectNameFor(app.name, "app")}.${defaultDomain}`] : [];
}

/** The longest domain that ends the address is its domain. */
function toRoute(address: string, app: string, domains: readonly string[]): Rendered {
  const { hostname, path, port } = parseRoute(address) ?? { hostname: address, path: "", port: 0 };
  const folded = hostname.toLowerCase();
  const domain =
    [...domains]
      .sort((one, other) => other.length - one.length)
      .find((name) => folded === name || folded.endsWith(`.${name}`)) ?? folded;
  const host = folded === domain ? "" : hostname.slice(0, -domain.length - 1);
  const spec: SpecInput<typeof Route> = {
    ...(host && { host }),
    ...(path && { path }),
    ...(port > 0 && { port }),
    domainRef: { name: domain },
    destinations: [{ app }],
  };
  return object(Route, objectNameFor(address, "route"), spec);
}
