// What a manifest may hold. Keys take dashes or underscores alike; unknown keys are ignored, as CF does.
import { z } from "zod";
import { anyVariablesSchema } from "../cf/app-env.ts";
import { metadataSchema } from "../cf/metadata.ts";
import { nameSchema } from "../http/shared-schemas.ts";
import { describeProblem } from "../http/validation.ts";
import { parseRoute } from "./plan.ts";

const UNIT_PROBLEM = "must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB";
/** Bytes. */
const UNITS: Record<string, number> = { B: 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
const MAX_MB = 4_194_304;

function toBytes(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,12})\s*([BKMGT])(?:i?B)?$/i.exec(text.trim()) ?? [];
  const factor = UNITS[unit.toUpperCase()];
  return count === undefined || factor === undefined ? undefined : Number(count) * factor;
}

/** Whole megabytes of `512M`, `1GB`, `2TiB`; undefined when it is no size. */
export function toMegabytes(text: string): number | undefined {
  const bytes = toBytes(text);
  return bytes === undefined ? undefined : Math.floor(bytes / UNITS["M"]!);
}

/** Bytes of a log rate: a size, -1 for no limit, or 0; undefined when it is none of these. */
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
const resettable = z
  .string()
  .min(1)
  .max(4096)
  .nullable()
  .transform((value) => (value === "null" || value === "default" ? null : value));
const checkType = z.enum(["http", "port", "process", "none"]).transform((type) => (type === "none" ? "process" : type));

const processShape = {
  command: resettable.optional(),
  instances: z.int().min(0, "must be greater than or equal to 0").max(10_000).optional(),
  memory: size.optional(),
  "disk-quota": size.optional(),
  "log-rate-limit-per-second": logRate.optional(),
  "health-check-type": checkType.optional(),
  "health-check-http-endpoint": z.string().regex(/^\//, "must be a valid URI path").max(255).optional(),
  "health-check-invocation-timeout": seconds.optional(),
  "health-check-interval": seconds.optional(),
  timeout: seconds.max(180).optional(),
  "readiness-health-check-type": checkType.optional(),
  "readiness-health-check-http-endpoint": z.string().regex(/^\//, "must be a valid URI path").max(255).optional(),
  "readiness-health-check-invocation-timeout": seconds.optional(),
  "readiness-health-check-interval": seconds.optional(),
};

const webProcess = z.looseObject(processShape);
const processEntry = z.looseObject({
  ...processShape,
  type: z.string().min(1).max(255),
  user: z.string().min(1).max(255).nullable().optional(),
});
export type ProcessEntry = z.output<typeof processEntry>;

const routeEntry = z.looseObject({
  route: z.string().min(1).max(512),
  protocol: z.enum(["http1", "http2"]).optional(),
  options: z.record(z.string(), z.unknown()).nullish(),
});

const application = webProcess.extend({
  name: nameSchema,
  lifecycle: z.enum(["buildpack", "cnb", "docker"]).optional(),
  buildpacks: z.array(z.string().min(1).max(4096)).max(50).optional(),
  buildpack: z.string().nullable().optional(),
  stack: z.string().min(1).max(4096).nullable().optional(),
  docker: z.looseObject({ image: z.string().optional() }).optional(),
  env: anyVariablesSchema.nullish(),
  "no-route": z.boolean().optional(),
  "random-route": z.boolean().optional(),
  "default-route": z.boolean().optional(),
  routes: z.array(routeEntry).max(100).optional(),
  processes: z.array(processEntry).max(100).optional(),
  services: z.array(z.unknown()).optional(),
  sidecars: z.array(z.unknown()).optional(),
  features: z.record(z.string(), z.boolean()).optional(),
  metadata: metadataSchema.optional(),
});
export type Application = z.output<typeof application>;

/** The body: normalised before it is checked, so that errors name keys with dashes. */
export const manifestBody = z.preprocess(
  withDashes,
  z.looseObject({
    version: z.literal(1).optional(),
    applications: z.array(z.unknown()).min(1, "must contain at least one application").max(100),
  }),
);

const FREE = new Set(["env", "features", "metadata", "parameters"]);

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

/** The applications, or every problem with them, each with the application's name in front. */
export function parseApplications(entries: readonly unknown[]): { applications: Application[]; problems: string[] } {
  const parsed = entries.map((entry) => application.safeParse(entry, { reportInput: true }));
  const problems = parsed.flatMap((result, index) =>
    (result.success ? findConflicts(result.data) : result.error.issues.map(toText)).map(
      (text) => `${prefix(entries[index], index)}: ${text}`,
    ),
  );
  return { applications: parsed.flatMap((result) => (result.success ? [result.data] : [])), problems };
}

function toText(issue: z.core.$ZodIssue): string {
  const [first = "", ...rest] = issue.path.map(String);
  const field = `${first.charAt(0).toUpperCase()}${first.slice(1).replaceAll("-", " ")}${rest.length > 0 ? ` ${rest.join(".")}` : ""}`;
  return issue.code === "custom" && (issue.params as { whole?: boolean } | undefined)?.whole
    ? issue.message
    : `${field} ${describeProblem(issue)}`.trim();
}

function prefix(entry: unknown, index: number): string {
  const name = (entry as { name?: unknown } | null)?.name;
  return typeof name === "string" && name !== "" ? `For application '${name}'` : `For application at index ${index}`;
}

/** What does not go together, or is not here yet; each with when that is so. */
const CONFLICTS: readonly [holds: (app: Application) => unknown, text: string][] = [
  [(app) => app.docker && (app.buildpacks ?? app.buildpack), "Docker and Buildpacks cannot both be specified."],
  [(app) => app.buildpacks && app.buildpack !== undefined, "Buildpack and Buildpacks fields cannot be used together."],
  [(app) => app["random-route"] && app["default-route"], "Random-route and default-route may not be used together"],
  [(app) => app.services?.length, "Services cannot be bound here yet"],
  [(app) => app.sidecars?.length, "Sidecars are not served here yet"],
  [
    (app) => app.routes?.some(({ options }) => Object.keys(options ?? {}).length > 0),
    "Options of routes are not supported here yet",
  ],
  [
    (app) =>
      [app, ...(app.processes ?? [])].some(
        (process) => isEndpointUnused(process, "") || isEndpointUnused(process, "readiness-"),
      ),
    'Health check type must be "http" to set a health check HTTP endpoint.',
  ],
  [
    (app) => new Set(app.processes?.map(({ type }) => type)).size < (app.processes?.length ?? 0),
    "Process types must be unique",
  ],
];

function isEndpointUnused(process: z.output<typeof webProcess>, prefix: "" | "readiness-"): boolean {
  const type = process[`${prefix}health-check-type`];
  return process[`${prefix}health-check-http-endpoint`] !== undefined && type !== undefined && type !== "http";
}

function findConflicts(app: Application): string[] {
  return [
    ...CONFLICTS.flatMap(([holds, text]) => (holds(app) ? [text] : [])),
    ...malformedRoutes(app.routes).map((route) => `The route '${route}' is not a properly formed URL`),
  ];
}

function malformedRoutes(routes: Application["routes"]): string[] {
  return (routes ?? []).map(({ route }) => route).filter((route) => !parseRoute(route));
}
