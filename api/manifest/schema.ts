// The manifest schema. Keys may use dashes or underscores; as in CF, unknown keys are ignored.
import { z } from "zod";
import { anyVariablesSchema } from "../cf/app/app-env.ts";
import { isFeatureName } from "../cf/app/app-features.ts";
import { buildpacksSchema, stackSchema } from "../cf/app/lifecycle.ts";
import { metadataSchema } from "../cf/metadata/metadata.ts";
import { nameSchema } from "../http/shared-schemas.ts";
import { isRecord } from "../http/body.ts";
import { describeProblem } from "../http/validation.ts";
import { findHashProblems, validAlgorithms, validOptions, type RouteOptionsInput } from "../cf/route/route-options.ts";
import { commandSchema, processUserSchema } from "../cf/process/process-schemas.ts";
import { parseRoute } from "./route-address.ts";

const UNIT_PROBLEM = "must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB";
/** Bytes. */
const UNITS: Record<string, number> = { B: 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
const MAX_MB = 4_194_304;

function toBytes(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,12})\s*([BKMGT])(?:i?B)?$/i.exec(text.trim()) ?? [];
  const factor = UNITS[unit.toUpperCase()];
  return count === undefined || factor === undefined ? undefined : Number(count) * factor;
}

/** Whole megabytes of `512M`, `1GB`, `2TiB`; undefined when the text is not a size. */
export function toMegabytes(text: string): number | undefined {
  const bytes = toBytes(text);
  return bytes === undefined ? undefined : Math.floor(bytes / UNITS["M"]!);
}

/** Bytes of a log rate: a size, -1 for no limit, or 0; undefined for anything else. */
export function toBytesPerSecond(text: string): number | undefined {
  return text === "-1" || text === "0" ? Number(text) : toBytes(text);
}

function sizeProblem(megabytes: number | undefined): string {
  if (megabytes === undefined) return UNIT_PROBLEM;
  return megabytes < 1 ? "must be greater than 0MB" : `must be at most ${MAX_MB}MB`;
}

const size = z.union([z.string(), z.number()], { error: UNIT_PROBLEM }).transform((value, ctx) => {
  const megabytes = toMegabytes(String(value));
  if (megabytes === undefined || megabytes < 1 || megabytes > MAX_MB) {
    ctx.addIssue({ code: "custom", message: sizeProblem(megabytes) });
    return z.NEVER;
  }
  return megabytes;
});

const logRate = z.union([z.string(), z.number()], { error: UNIT_PROBLEM }).transform((value, ctx) => {
  const bytes = toBytesPerSecond(String(value));
  if (bytes === undefined) ctx.addIssue({ code: "custom", message: UNIT_PROBLEM });
  return bytes ?? z.NEVER;
});

const seconds = z.int().min(1, "must be greater than or equal to 1").max(3600);
const resettable = commandSchema
  .nullable()
  .transform((value) => (value === "null" || value === "default" ? null : value));
const checkType = z
  .enum(["http", "port", "process", "none"], { error: 'must be "port", "process", or "http"' })
  .transform((type) => (type === "none" ? "process" : type));
const checkEndpoint = z.string().max(255).regex(/^\//, "must be a valid URI path");

const processShape = {
  command: resettable.optional(),
  instances: z.int().min(0, "must be greater than or equal to 0").max(10_000).optional(),
  memory: size.optional(),
  "disk-quota": size.optional(),
  "log-rate-limit-per-second": logRate.optional(),
  "health-check-type": checkType.optional(),
  "health-check-http-endpoint": checkEndpoint.optional(),
  "health-check-invocation-timeout": seconds.optional(),
  "health-check-interval": seconds.optional(),
  timeout: seconds.max(180).optional(),
  "readiness-health-check-type": checkType.optional(),
  "readiness-health-check-http-endpoint": checkEndpoint.optional(),
  "readiness-health-check-invocation-timeout": seconds.optional(),
  "readiness-health-check-interval": seconds.optional(),
};

const webProcess = z.looseObject(processShape);
const processEntry = z.looseObject({
  ...processShape,
  type: z.string().min(1).max(255),
  user: processUserSchema.nullable().optional(),
});
export type ProcessEntry = z.output<typeof processEntry>;

const routeEntry = z.looseObject({
  route: z.string().min(1).max(512),
  protocol: z.enum(["http1", "http2", "tcp"]).nullish(),
  // Any value: optionProblems has CF's words for what is wrong.
  options: z.unknown().optional(),
});

const sidecarEntry = z.looseObject({
  name: z.string().min(1).max(255),
  command: z.string().min(1).max(4096),
  "process-types": z.array(z.string().min(1).max(255)).min(1, "must have at least 1 process_type").max(50),
  memory: z.union([z.int().min(1).max(MAX_MB), size]).nullish(),
});

const BUILDPACK_LENGTH = "must be between 1 and 4096 characters";
const buildpackSchema = z.string().min(1, BUILDPACK_LENGTH).max(4096, BUILDPACK_LENGTH);
const FEATURES = "must be a map of valid feature names to booleans (true = enabled, false = disabled)";
const isBoolean = z.boolean("must be a boolean");

function hasOnly(record: object, isAllowed: (key: string) => boolean): boolean {
  const keys = Object.keys(record);
  return keys.length > 0 && keys.every(isAllowed);
}

const application = webProcess.extend({
  name: nameSchema,
  lifecycle: z.enum(["buildpack", "cnb", "docker"]).optional(),
  buildpacks: buildpacksSchema.optional(),
  buildpack: buildpackSchema.nullable().optional(),
  stack: stackSchema.nullable().optional(),
  docker: z.looseObject({ image: z.string().optional() }).optional(),
  env: anyVariablesSchema.nullish(),
  "no-route": isBoolean.optional(),
  "random-route": isBoolean.optional(),
  "default-route": isBoolean.optional(),
  routes: z.array(routeEntry, "must be a list of route objects").max(100).optional(),
  processes: z.array(processEntry).max(100).optional(),
  services: z.array(z.unknown()).optional(),
  sidecars: z.array(sidecarEntry, "must be an array of sidecar configurations").max(20).optional(),
  features: z
    .record(z.string(), z.boolean(FEATURES), FEATURES)
    .refine((features) => hasOnly(features, isFeatureName), FEATURES)
    .optional(),
  metadata: metadataSchema.optional(),
});
export type Application = z.output<typeof application>;

const NO_APPLICATIONS = "Cannot parse manifest with no 'applications' field.";
const WRONG_VERSION = "Unsupported manifest schema version. Currently supported versions: [1].";

/** Keys are normalized before validation. The body size limit bounds the number of applications. */
export const manifestBody = z.preprocess(
  withDashes,
  z
    .looseObject({ version: z.unknown().optional(), applications: z.unknown().optional() })
    .transform(({ version, applications }, context) => {
      const isSupported = version === undefined || version === null || version === 1;
      if (isSupported && Array.isArray(applications) && applications.length > 0)
        return { applications: applications as unknown[] };
      context.addIssue({
        code: "custom",
        message: isSupported ? NO_APPLICATIONS : WRONG_VERSION,
        params: { whole: true },
      });
      return z.NEVER;
    }),
);

const FREE = new Set(["env", "features", "metadata", "parameters", "options"]);

function withDashes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDashes);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      FREE.has(key) ? key : key.replaceAll("_", "-"),
      FREE.has(key) ? child : withDashes(child),
    ]),
  );
}

/** The applications, or every problem, each prefixed with the application's name. */
export function parseApplications(
  entries: readonly unknown[],
  { isHashAllowed }: { isHashAllowed: boolean } = { isHashAllowed: false },
): { applications: Application[]; problems: string[] } {
  const parsed = entries.map((entry) => application.safeParse(entry, { reportInput: true }));
  const problems = parsed.flatMap((result, index) =>
    [...new Set(findProblems(result, entries[index], isHashAllowed))].map(
      (text) => `${prefix(entries[index], index)}: ${text}`,
    ),
  );
  return { applications: parsed.flatMap((result) => (result.success ? [result.data] : [])), problems };
}

function findProblems(result: z.ZodSafeParseResult<Application>, entry: unknown, isHashAllowed: boolean): string[] {
  return result.success
    ? findConflicts(result.data, isHashAllowed)
    : result.error.issues.map((issue) => toText(issue, entry));
}

/** Keys whose problems CF reports for a process: `Process "web": Memory ...`. */
const PROCESS_KEYS = new Set<string>([...Object.keys(processShape), "user"]);
/** Keys that CF's error texts write with a dash. */
const DASHED_KEYS = new Set(["no-route", "random-route", "default-route"]);

function toText(issue: z.core.$ZodIssue, entry: unknown): string {
  if ((issue as { params?: { whole?: boolean } }).params?.whole) return issue.message;
  const [key = "", at, field] = issue.path.map(String);
  if (key === "name" && isEmptyName(issue)) return "Name must not be empty";
  if (key === "processes") return processProblem(issue, entry, { at, field });
  if (key === "routes") return routesProblem(issue, field);
  if (key === "sidecars") return sidecarProblem(issue, entry, { at, field });
  const problem = attributeProblem(key, issue);
  return PROCESS_KEYS.has(key) ? `Process "web": ${problem}` : problem;
}

function sidecarProblem(
  issue: z.core.$ZodIssue,
  entry: unknown,
  { at, field }: { at: string | undefined; field: string | undefined },
): string {
  if (at === undefined || field === undefined) return attributeProblem("sidecars", issue);
  const { name } = (entry as { sidecars: { name?: unknown }[] }).sidecars[Number(at)] ?? {};
  const problem = attributeProblem(field, issue);
  return typeof name === "string" && name !== "" ? `Sidecar "${name}": ${problem}` : `Sidecar ${problem.toLowerCase()}`;
}

function routesProblem(issue: z.core.$ZodIssue, field: string | undefined): string {
  if (field === "protocol") return "Route protocol must be 'http1', 'http2' or 'tcp'.";
  return issue.code === "too_big" ? attributeProblem("routes", issue) : "Routes must be a list of route objects";
}

function isEmptyName(issue: z.core.$ZodIssue): boolean {
  const { input } = issue;
  return input === undefined || input === null || (typeof input === "string" && input.trim() === "");
}

function processProblem(
  issue: z.core.$ZodIssue,
  entry: unknown,
  { at, field }: { at: string | undefined; field: string | undefined },
): string {
  if (at === undefined || field === undefined) return "Processes must be an array of process configurations";
  if (field === "type") return "All Processes must specify a type";
  const { type } = (entry as { processes: { type?: unknown }[] }).processes[Number(at)] ?? {};
  return `Process "${typeof type === "string" ? type : ""}": ${attributeProblem(field, issue)}`;
}

function attributeProblem(key: string, issue: z.core.$ZodIssue): string {
  const words = DASHED_KEYS.has(key) ? key : key.replaceAll("-", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)} ${describeProblem(issue)}`.trim();
}

function prefix(entry: unknown, index: number): string {
  const name = (entry as { name?: unknown } | null)?.name;
  return typeof name === "string" && name !== "" ? `For application '${name}'` : `For application at index ${index}`;
}

/** Keys that exclude each other or are not supported yet, each with its condition. */
const CONFLICTS: readonly [holds: (app: Application) => unknown, text: string][] = [
  [(app) => app.docker && (app.buildpacks ?? app.buildpack), "Cannot specify both buildpack(s) and docker keys"],
  [(app) => app.buildpacks && app.buildpack !== undefined, "Buildpack and Buildpacks fields cannot be used together."],
  [(app) => app["random-route"] && app["default-route"], "Random-route and default-route may not be used together"],
  [(app) => app.services?.length, "Services cannot be bound here yet"],
];

function unusedEndpoints(app: Application): string[] {
  return [{ ...app, type: "web" }, ...(app.processes ?? [])].flatMap((process) =>
    (["", "readiness-"] as const)
      .filter((kind) => isEndpointUnused(process, kind))
      .map((kind) => {
        const attribute = kind === "" ? "Health check type" : "Readiness health check type";
        return `Process "${process.type}": ${attribute} must be "http" to set a health check HTTP endpoint`;
      }),
  );
}

function isEndpointUnused(process: z.output<typeof webProcess>, kind: "" | "readiness-"): boolean {
  const type = process[`${kind}health-check-type`];
  return process[`${kind}health-check-http-endpoint`] !== undefined && type !== undefined && type !== "http";
}

function repeatedTypes(app: Application): string[] {
  const types = (app.processes ?? []).map(({ type }) => type);
  return types
    .filter((type, at) => types.indexOf(type) < at)
    .map((type) => `Process "${type}" may only be present once`);
}

function findConflicts(app: Application, isHashAllowed: boolean): string[] {
  return [
    ...CONFLICTS.flatMap(([holds, text]) => (holds(app) ? [text] : [])),
    ...unusedEndpoints(app),
    ...repeatedTypes(app),
    ...(app.routes ?? []).flatMap((route) => optionProblems(route, isHashAllowed)),
    ...malformedRoutes(app.routes).map((route) => `The route '${route}' is not a properly formed URL`),
  ];
}

/** In CF's words. */
function optionProblems(
  { route, options }: NonNullable<Application["routes"]>[number],
  isHashAllowed: boolean,
): string[] {
  if (options === undefined) return [];
  if (!isRecord(options)) return [`Route '${route}': options must be an object`];
  const keys = validOptions(isHashAllowed);
  const unknown = Object.keys(options).filter((key) => !keys.includes(key));
  return [
    ...unknown.map(
      (key) => `Route '${route}' contains invalid route option '${key}'. Valid keys: '${keys.join(", ")}'`,
    ),
    ...("loadbalancing" in options ? balancingProblems(route, options["loadbalancing"], isHashAllowed) : []),
    ...(isHashAllowed ? findHashProblems(options).map((problem) => `Route '${route}': ${problem}`) : []),
  ];
}

function balancingProblems(route: string, value: unknown, isHashAllowed: boolean): string[] {
  const algorithms = validAlgorithms(isHashAllowed);
  const valid = `Valid values are: '${algorithms.join(", ")}'`;
  if (typeof value !== "string") return [`Invalid value for 'loadbalancing' for Route '${route}'; ${valid}`];
  return algorithms.includes(value) ? [] : [`Cannot use loadbalancing value '${value}' for Route '${route}'; ${valid}`];
}

/** The options of a checked entry. */
export function routeOptionsOf({ options }: NonNullable<Application["routes"]>[number]): RouteOptionsInput | undefined {
  return options as RouteOptionsInput | undefined;
}

function malformedRoutes(routes: Application["routes"]): string[] {
  return (routes ?? []).map(({ route }) => route).filter((route) => !parseRoute(route));
}
