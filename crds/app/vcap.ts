// The variables that the platform sets, such as VCAP_APPLICATION and VCAP_SERVICES. Shared by running, staging and `cf env`. Pure.

/** Open files per instance, as in Cloud Foundry. */
export const FILE_DESCRIPTORS = 16384;

interface NamedGUID {
  guid: string;
  name: string;
}

export interface VcapApplicationInput {
  apiURL: string;
  app: NamedGUID;
  space: NamedGUID;
  org: NamedGUID;
  /** Mapped routes, without scheme. */
  uris: readonly string[];
  /** MB. Omitted for `cf env`, which shows no memory and disk limits. */
  limits?: { memoryMB: number; diskMB: number };
  /** Only for a running process. */
  process?: { guid: string; type: string };
  /** Changes with every version of a process; any UUID while staging; omitted for `cf env`. */
  version?: string;
}

/** The value of VCAP_APPLICATION, with keys in Cloud Foundry's order. */
export function vcapApplication(input: VcapApplicationInput): Record<string, unknown> {
  const uris = [...input.uris];
  return {
    cf_api: input.apiURL,
    limits: { fds: FILE_DESCRIPTORS, ...(input.limits && { mem: input.limits.memoryMB, disk: input.limits.diskMB }) },
    application_name: input.app.name,
    application_uris: uris,
    name: input.app.name,
    space_name: input.space.name,
    space_id: input.space.guid,
    organization_id: input.org.guid,
    organization_name: input.org.name,
    uris,
    // Legacy field that a running process does not get.
    ...(!input.process && { users: null }),
    ...(input.process && { process_id: input.process.guid, process_type: input.process.type }),
    application_id: input.app.guid,
    ...(input.version && { version: input.version, application_version: input.version }),
  };
}

/** An entry of VCAP_SERVICES; `credentials` is the broker's object, null where nobody has given any. */
export interface BoundService {
  label: string;
  credentials: Readonly<Record<string, unknown>> | null;
  [field: string]: unknown;
}

/** VCAP_SERVICES by label, and DATABASE_URL from the first credentials that name a database. `{}` when nothing is bound. */
export function systemEnv(services: readonly BoundService[]): { VCAP_SERVICES: string; DATABASE_URL?: string } {
  // Labels are brokers' words, such as "constructor" and "__proto__".
  const byLabel = Object.fromEntries(Map.groupBy(services, ({ label }) => label));
  const url = services.map((service) => databaseURL(service.credentials?.["uri"])).find(Boolean);
  return { VCAP_SERVICES: JSON.stringify(byLabel), ...(url && { DATABASE_URL: url }) };
}

// Cloud Foundry translates these schemes to the names of Rails adapters.
const SCHEMES: ReadonlyMap<string, string> = new Map([
  ["mysql", "mysql2"],
  ["mysql2", "mysql2"],
  ["postgres", "postgres"],
  ["postgresql", "postgres"],
]);

function databaseURL(uri: unknown): string | undefined {
  if (typeof uri !== "string") return undefined;
  const [, scheme, rest] = /^([a-z0-9]+):(\/\/.*)$/s.exec(uri) ?? [];
  const adapter = SCHEMES.get(scheme ?? "");
  return adapter ? `${adapter}:${rest}` : undefined;
}

/** Is this name reserved for the platform? A user's value for it is dropped. */
export function isPlatformVariable(name: string): boolean {
  return /^(vcap_|vmc)/i.test(name) || name.toUpperCase() === "PORT";
}
