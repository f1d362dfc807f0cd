// VCAP_APPLICATION, VCAP_SERVICES and what else the platform puts into an environment. Shared by what runs, what builds and `cf env`. Pure.

/** Open files per instance, as Cloud Foundry promises them. */
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
  /** Without scheme, as mapped. */
  uris: readonly string[];
  /** MB; left out for `cf env`, which names no limits of memory and disk. */
  limits?: { memoryMB: number; diskMB: number };
  /** Only for a running process. */
  process?: { guid: string; type: string };
  /** Changes with every version of a process; any UUID while staging; left out for `cf env`. */
  version?: string;
}

/** The object behind VCAP_APPLICATION, keys in the order in which Cloud Foundry writes them. */
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
    // A running process is told everything but this relic.
    ...(!input.process && { users: null }),
    ...(input.process && { process_id: input.process.guid, process_type: input.process.type }),
    application_id: input.app.guid,
    ...(input.version && { version: input.version, application_version: input.version }),
  };
}

/** One entry of VCAP_SERVICES; `credentials` is the broker's object. */
export interface BoundService {
  label: string;
  credentials: Readonly<Record<string, unknown>>;
  [field: string]: unknown;
}

/** VCAP_SERVICES by label, and DATABASE_URL from the first credentials that name a database. `{}` when nothing is bound. */
export function systemEnv(services: readonly BoundService[]): { VCAP_SERVICES: string; DATABASE_URL?: string } {
  const byLabel: Record<string, BoundService[]> = {};
  for (const service of services) (byLabel[service.label] ??= []).push(service);
  const url = services.map((service) => databaseURL(service.credentials["uri"])).find(Boolean);
  return { VCAP_SERVICES: JSON.stringify(byLabel), ...(url && { DATABASE_URL: url }) };
}

// Rails' adapters are named so; Cloud Foundry has translated these schemes since its first days.
const SCHEMES: Readonly<Record<string, string>> = {
  mysql: "mysql2",
  mysql2: "mysql2",
  postgres: "postgres",
  postgresql: "postgres",
};

function databaseURL(uri: unknown): string | undefined {
  if (typeof uri !== "string") return undefined;
  const [, scheme, rest] = /^([a-z0-9]+):(\/\/.*)$/s.exec(uri) ?? [];
  const adapter = scheme && SCHEMES[scheme];
  return adapter ? `${adapter}:${rest}` : undefined;
}

/** Is this name the platform's, so that a user's value for it is not passed on? */
export function isPlatformVariable(name: string): boolean {
  return /^(vcap_|vmc)/i.test(name) || name.toUpperCase() === "PORT";
}
