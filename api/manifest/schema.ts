// What a manifest may hold. Keys take dashes or underscores alike; unknown keys are ignored, as CF does.
import { z } from "zod";
import { anyVariablesSchema } from "../lib/app-env.ts";
import { metadataSchema } from "../lib/metadata.ts";
import { nameSchema } from "../lib/payload.ts";
import { parseRoute } from "./plan.ts";

const UNITS: Record<string, number> = { B: 1 / (1024 * 1024), K: 1 / 1024, M: 1, G: 1024, T: 1024 * 1024 };
const MAX_MB = 4_194_304;

/** Megabytes of `512M`, `1GB`, `2TiB`; undefined when it is no size. */
export function toMegabytes(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,12})\s*([BKMGT])(?:i?B)?$/i.exec(text.trim()) ?? [];
  const factor = UNITS[unit.toUpperCase()];
  return count === undefined || factor === undefined ? undefined : Math.floor(Number(count) * factor);
}

const size = z.union([z.string(), z.number()], { error: "must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB" }).transform((value, ctx) => {
  const megabytes = toMegabytes(String(value));
  if (megabytes === undefined || megabytes < 1 || megabytes > MAX_MB) {
    ctx.addIssue({ code: "custom", message: megabytes === undefined ? "must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB" : "must be greater than 0MB" });
    return z.NEVER;
  }
  return megabytes;
});

const logRate = z.union([z.string(), z.number()]).transform((value, ctx) => {
  if (String(value) === "-1") return -1;
  if (String(value) === "0") return 0;
  const megabytes = /^(\d{1,12})\s*([BKMGT])(?:i?B)?$/i.test(String(value)) ? Number(/^\d+/.exec(String(value))?.[0]) * (UNITS[/[BKMGT]/i.exec(String(value))?.[0].toUpperCase() ?? ""] ?? 0) : undefined;
  if (megabytes === undefined) {
    ctx.addIssue({ code: "custom", message: "must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB" });
    return z.NEVER;
  }
  return Math.round(megabytes * 1024 * 1024);
});

const seconds = z.int().min(1, "must be greater than or equal to 1").max(3600);
const resettable = z.string().min(1).max(4096).nullable().transform((value) => (value === "null" || value === "default" ? null : value));
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
const processEntry = z.looseObject({ ...processShape, type: z.string().min(1).max(255), user: z.string().min(1).max(255).nullable().optional() });
export type ProcessEntry = z.output<typeof processEntry>;

const routeEntry = z.looseObject({ route: z.string().min(1).max(512), protocol: z.enum(["http1", "http2", "tcp"]).optional() });

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
  metadata: metadataSchema.optional(),
});
export type Application = z.output<typeof application>;

/** The body: normalised before it is checked, so that errors name keys with dashes. */
export const manifestBody = z.preprocess(dashed, z.looseObject({ version: z.literal(1).optional(), applications: z.array(z.unknown()).min(1, "must contain at least one application").max(100) }));

const FREE = new Set(["env", "metadata", "parameters"]);

function dashed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dashed);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [FREE.has(key) ? key : key.replaceAll("_", "-"), FREE.has(key) ? child : dashed(child)]));
}

/** The applications, or every problem with them, each with the application's name in front. */
export function parseApplications(entries: readonly unknown[]): { applications: Application[]; problems: string[] } {
  const parsed = entries.map((entry) => application.safeParse(entry));
  const problems = parsed.flatMap((result, index) => (result.success ? semantics(result.data) : result.error.issues.map(toText)).map((text) => `${prefix(entries[index], index)}: ${text}`));
  return { applications: parsed.flatMap((result) => (result.success ? [result.data] : [])), problems };
}

function toText(issue: z.core.$ZodIssue): string {
  const [first = "", ...rest] = issue.path.map(String);
  const field = `${first.charAt(0).toUpperCase()}${first.slice(1).replaceAll("-", " ")}${rest.length > 0 ? ` ${rest.join(".")}` : ""}`;
  return `${field} ${issue.message}`.trim();
}

function prefix(entry: unknown, index: number): string {
  const name = (entry as { name?: unknown } | null)?.name;
  return typeof name === "string" && name !== "" ? `For application '${name}'` : `For application at index ${index}`;
}

function semantics(app: Application): string[] {
  const types = (app.processes ?? []).map((process) => process.type);
  return [
    ...(app.docker && (app.buildpacks ?? app.buildpack) ? ["Docker and Buildpacks cannot both be specified."] : []),
    ...(app["random-route"] && app["default-route"] ? ["Random-route and default-route may not be used together"] : []),
    ...(app.services?.length ? ["Services cannot be bound here yet"] : []),
    ...malformedRoutes(app.routes).map((route) => `The route '${route}' is not a properly formed URL`),
    ...(new Set(types).size < types.length ? ["Process types must be unique"] : []),
  ];
}

function malformedRoutes(routes: Application["routes"]): string[] {
  return (routes ?? []).map(({ route }) => route).filter((route) => !parseRoute(route));
}
