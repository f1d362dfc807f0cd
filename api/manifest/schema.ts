// The manifest schema. Keys may use dashes or underscores; as in CF, unknown keys are ignored.
import { z } from "zod";
import { anyVariablesSchema } from "../cf/app/app-env.ts";
import { isFeatureName } from "../cf/app/app-features.ts";
import { buildpacksSchema, stackSchema } from "../cf/app/lifecycle.ts";
import { metadataSchema } from "../http/metadata.ts";
import { nameSchema } from "../http/shared-schemas.ts";
import { isRecord } from "../../kube/api/is-record.ts";
import { describeProblem } from "../http/validation.ts";
import { findHashProblems, validAlgorithms, validOptions, type RouteOptionsInput } from "../cf/route/route-options.ts";
import { commandSchema, MAX_START_SECONDS, processUserSchema } from "../cf/process/process-schemas.ts";
import { parseRoute } from "./route-address.ts";
import { logRateSchema, MAX_MB, sizeSchema } from "./sizes.ts";

/** As in CF, a number may be quoted: a variable's value often is. */
function whole(number: z.ZodInt) {
  return z.preprocess(
    (value) => (typeof value === "string" && /^[+-]?\d{1,12}$/.test(value) ? Number(value) : value),
    number,
  );
}

const secondsUpTo = (most: number) => whole(z.int().min(1, "must be greater than or equal to 1").max(most));
const seconds = secondsUpTo(3600);
const resettable = commandSchema
  .nullable()
  .transform((value) => (value === "null" || value === "default" ? null : value));
const checkType = z
  .enum(["http", "port", "process", "none"], { error: 'must be "port", "process", or "http"' })
  .transform((type) => (type === "none" ? "process" : type));
const NO_PATH = "must be a valid URI path";
const checkEndpoint = z.string(NO_PATH).max(255).regex(/^\//, NO_PATH);

const processShape = {
  command: resettable.optional(),
  instances: whole(z.int().min(0, "must be greater than or equal to 0").max(10_000)).optional(),
  memory: sizeSchema.optional(),
  "disk-quota": sizeSchema.optional(),
  "log-rate-limit-per-second": logRateSchema.optional(),
  "health-check-type": checkType.optional(),
  "health-check-http-endpoint": checkEndpoint.optional(),
  "health-check-invocation-timeout": seconds.optional(),
  "health-check-interval": seconds.optional(),
  timeout: secondsUpTo(MAX_START_SECONDS).optional(),
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

/** A name, or an object with one. */
export const serviceEntry = z
  .union([z.string(), z.looseObject({ name: z.string().min(1).max(255) })], "must be a list of service instances")
  .transform((entry) => (typeof entry === "string" ? { name: entry } : entry))
  .pipe(
    z.looseObject({
      name: z.string().min(1).max(255),
      "binding-name": z.string().min(1).max(255).optional(),
      parameters: z.record(z.string(), z.unknown()).nullish(),
    }),
  );

const sidecarEntry = z.looseObject({
  name: z.string().min(1).max(255),
  command: z.string().min(1).max(4096),
  "process-types": z.array(z.string().min(1).max(255)).min(1, "must have at least 1 process_type").max(50),
  memory: z.union([z.int().min(1).max(MAX_MB), sizeSchema], "in mb is not a number").nullish(),
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
  services: z.array(serviceEntry, "must be a list of service instances").max(100).optional(),
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

/** Bound of one manifest, which is applied within one request. */
const MOST_APPLICATIONS = 500;
const TOO_MANY = `Applications is too long (maximum is ${MOST_APPLICATIONS} applications)`;
/** That one answer names. */
export const MOST_PROBLEMS = 100;

/** Keys are normalized before validation. */
export const manifestBody = z.preprocess(
  withDashes,
  z
    .looseObject({ version: z.unknown().optional(), applications: z.unknown().optional() })
    .transform(({ version, applications }, context) => {
      const problem = problemOf(version, applications);
      if (problem === undefined) return { applications: (applications as unknown[]).map(withoutUnset) };
      context.addIssue({ code: "custom", message: problem, params: { whole: true } });
      return z.NEVER;
    }),
);

function problemOf(version: unknown, applications: unknown): string | undefined {
  if (version !== undefined && version !== null && version !== 1) return WRONG_VERSION;
  if (!Array.isArray(applications) || applications.length === 0) return NO_APPLICATIONS;
  return applications.length > MOST_APPLICATIONS ? TOO_MANY : undefined;
}

/** Attributes that mean nothing when they are null, as in CF: their line has no value. */
const NOTHING_WHEN_NULL = new Set([
  ...Object.keys(processShape).filter((key) => key !== "command" && !key.endsWith("-type")),
  ...["buildpacks", "lifecycle", "docker", "no-route", "random-route", "default-route", "metadata"],
]);
const SIZES = new Set(["memory", "disk-quota", "log-rate-limit-per-second"]);

/** An entry without the attributes that have no value, its processes included. */
function withoutUnset(entry: unknown): unknown {
  if (!isRecord(entry)) return entry;
  const set = Object.entries(entry).filter(
    ([key, value]) => !(value === null && NOTHING_WHEN_NULL.has(key)) && !(value === "" && SIZES.has(key)),
  );
  return Object.fromEntries(
    set.map(([key, value]) => [
      key,
      key === "processes" && Array.isArray(value) ? (value as unknown[]).map(withoutUnset) : value,
    ]),
  );
}

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

/** An application, or its problems, each prefixed with its name. */
export function parseApplication(
  entry: unknown,
  index: number,
  { isHashAllowed }: { isHashAllowed: boolean } = { isHashAllowed: false },
): { application?: Application; problems: string[] } {
  const result = application.safeParse(entry, { reportInput: true });
  const found = new Set(findProblems(result, entry, isHashAllowed).slice(0, MOST_PROBLEMS));
  const problems = [...found].map((text) => `${prefix(entry, index)}: ${text}`);
  return { ...(result.success && { application: result.data }), problems };
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
  if (key === "env" && issue.code === "invalid_type") return "Env must be an object of keys and values";
  if (key === "metadata" && issue.code === "unrecognized_keys")
    return `Metadata has unexpected field(s): ${issue.keys.map((name) => `'${name}'`).join(" ")}`;
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
