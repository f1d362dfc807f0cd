// The manifest of a push: read, variables filled in, command line laid over it. Pure but for readManifest.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse, stringify } from "yaml";
import { Failure } from "../failure.ts";
import { findManifestFaults } from "./check-manifest.ts";
import type { PushOptions } from "./options.ts";

/** An entry of a manifest, which findManifestFaults has judged. */
interface Entry extends Record<string, unknown> {
  name?: string;
  path?: string;
  docker?: { image?: string; username?: string };
}
export interface Application extends Entry {
  name: string;
}

/** Applications to push, and the folder that their paths are relative to. */
export interface Manifest {
  applications: Application[];
  folder: string;
}

/** Reads the manifest that the options name, or manifest.yml of this folder, or makes one of the command line alone. @throws Failure (usage) */
export function readManifest(app: string | undefined, options: PushOptions): Manifest {
  const path = findManifest(options);
  const variables = readVariables(options);
  const folder = path ? dirname(path) : process.cwd();
  const text = path ? readFileSync(path, "utf8") : undefined;
  const applications = text === undefined ? [named(app)] : select(parseManifest(text, variables, path ?? ""), app);
  if (applications.length > 1 && hasAppOptions(options))
    throw new Failure("these options fit one app, the manifest has several", {
      kind: "usage",
      next: "name the app: cup push APP",
    });
  const overlaid = applications.map((one) => overlay(one, options));
  refuseFaults("the command line", findManifestFaults({ applications: overlaid }));
  return { folder, applications: overlaid };
}

function named(app: string | undefined): Application {
  if (!app) throw new Failure("which app? There is no manifest.yml here", { kind: "usage", next: "cup push APP" });
  return { name: app };
}

function findManifest(options: PushOptions): string | undefined {
  if (options.manifest === false) return undefined;
  if (typeof options.manifest === "string") return resolve(options.manifest);
  const found = ["manifest.yml", "manifest.yaml"].map((name) => resolve(name)).find((path) => readable(path));
  return found;
}

function readable(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

function readVariables(options: PushOptions): Record<string, unknown> {
  const fromFiles = (options.varsFile ?? []).map(
    (file) => parseYaml(readFileSync(file, "utf8"), file) as Record<string, unknown>,
  );
  const fromFlags = (options.var ?? []).map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new Failure(`--var ${pair}: write name=value`, { kind: "usage" });
    return { [pair.slice(0, at)]: parseYaml(pair.slice(at + 1), "--var") };
  });
  return Object.assign({}, ...fromFiles, ...fromFlags) as Record<string, unknown>;
}

function parseYaml(text: string, where: string): unknown {
  try {
    const value: unknown = parse(text, { maxAliasCount: 100, merge: true });
    // An alias inside its own anchor has no end; JSON refuses it.
    JSON.stringify(value);
    return value;
  } catch (cause) {
    throw new Failure(`${where} is no valid YAML: ${cause instanceof Error ? cause.message.split("\n")[0] : ""}`, {
      kind: "usage",
      cause,
    });
  }
}

/** Parses a manifest and fills in its ((variables)). @throws Failure (usage) that names what is wrong. */
export function parseManifest(text: string, variables: Record<string, unknown>, where: string): Entry[] {
  const faults: string[] = [];
  const filled = interpolate(parseYaml(text, where), variables, (fault) => faults.push(fault));
  faults.push(...findManifestFaults(filled));
  refuseFaults(where, faults);
  return (filled as { applications: Entry[] }).applications;
}

/** @throws Failure (usage) unless there is none */
function refuseFaults(where: string, faults: readonly string[]): void {
  const [first] = faults;
  if (first === undefined) return;
  const missing = faults.flatMap((fault) => /has no value: (--var \S+)$/.exec(fault)?.[1] ?? []);
  const isOnlyMissing = missing.length === faults.length;
  throw new Failure(sayFaults(where, [...new Set(faults)]), {
    kind: "usage",
    next: isOnlyMissing
      ? `the same again with ${[...new Set(missing)].join(" ")}`
      : `correct ${where}, then push again`,
  });
}

function sayFaults(where: string, faults: readonly string[]): string {
  return faults.length === 1
    ? `${where}: ${faults[0]}`
    : `${where} has ${faults.length} faults:\n${faults.map((fault) => `  ${fault}`).join("\n")}`;
}

const WHOLE = /^\(\(([^()]+)\)\)$/;
const PART = /\(\(([^()]+)\)\)/g;

/** Replaces ((name)) in every string; a string that is one variable alone takes its type. */
function interpolate(value: unknown, variables: Record<string, unknown>, onFault: (fault: string) => void): unknown {
  const fill = (text: string): unknown => interpolateText(text, variables, onFault);
  if (typeof value === "string") return fill(value);
  if (Array.isArray(value)) return value.map((item) => interpolate(item, variables, onFault));
  if (value !== null && typeof value === "object")
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [fill(key), interpolate(item, variables, onFault)]),
    );
  return value;
}

function interpolateText(text: string, variables: Record<string, unknown>, onFault: (fault: string) => void): unknown {
  const resolveVariable = (name: string): unknown => {
    if (name in variables) return variables[name];
    onFault(`the variable ((${name})) has no value: --var ${name}=VALUE`);
    return "1";
  };
  const whole = WHOLE.exec(text);
  return whole?.[1]
    ? resolveVariable(whole[1])
    : text.replace(PART, (_match, name: string) => String(resolveVariable(name)));
}

function select(applications: Entry[], app: string | undefined): Application[] {
  const [only] = applications;
  const unnamed = applications.find((one) => one.name === undefined);
  if (unnamed && (applications.length > 1 || !app))
    throw new Failure("an application of the manifest has no name", { kind: "usage" });
  if (!app) return applications as Application[];
  if (applications.length === 1 && only) return [{ ...only, name: app }];
  const found = applications.find((one) => one.name === app);
  if (!found)
    throw new Failure(`the manifest has no application ${app}`, {
      kind: "usage",
      next: `it has ${applications.map((one) => one.name).join(", ")}`,
    });
  return [found as Application];
}

function hasAppOptions(options: PushOptions): boolean {
  const { manifest: _manifest, var: _var, varsFile: _varsFile, start: _start, route, ...rest } = options;
  return route === false || Object.values(rest).some((value) => value !== undefined);
}

/** The command line wins over the manifest. A size or check given there is the web process's. */
export function overlay(app: Application, options: PushOptions): Application {
  const given = {
    path: options.path === undefined ? undefined : resolve(options.path),
    buildpacks: options.buildpack?.map((name) => (/^\.{1,2}(\/|$)/.test(name) ? resolve(name) : name)),
    command: options.command,
    instances: options.instances,
    memory: options.memory,
    disk_quota: options.disk,
    "health-check-type": options.healthCheckType,
    "health-check-http-endpoint": options.endpoint,
    timeout: options.appStartTimeout,
    stack: options.stack,
    docker: options.dockerImage ? { image: options.dockerImage } : undefined,
    "no-route": options.route === false ? true : undefined,
    "random-route": options.randomRoute,
  };
  const merged: Application = {
    ...app,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  };
  const wantsRoute = ["routes", "no-route", "random-route", "default-route"].some(
    (key) => ![undefined, null, false].includes(merged[key] as boolean),
  );
  return wantsRoute ? merged : { ...merged, "default-route": true };
}

/** Input of the API's apply_manifest: one app, without the local path. */
export function toYaml(app: Application): string {
  const { path: _path, ...rest } = app;
  return stringify({ applications: [rest] });
}

/** Folder or archive of an app's source. */
export function sourceOf(app: Application, folder: string): string {
  return app.path === undefined ? folder : join(app.path.startsWith("/") ? "" : folder, app.path);
}
