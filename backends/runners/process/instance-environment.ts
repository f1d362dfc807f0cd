// The environment of one instance, as in Cloud Foundry's runtime contract. Pure: nothing of the platform's own environment gets in.

/** Input of the environment. `env` is the LRP's, with secrets resolved. */
export interface InstanceEnvironmentOptions {
  env: Readonly<Record<string, string>>;
  /** A task has none. */
  index?: number | undefined;
  instanceGuid: string;
  /** Declared ports and the host ports that stand for them, in order; the first is PORT. */
  ports: readonly { port: number; hostPort: number }[];
  memoryMB: number;
  address: string;
  home: string;
  tmp: string;
  appDir: string;
  /** PATH before the droplet's layers prepend theirs. */
  path: string;
}

/** The variables for the launcher. As in Cloud Controller the instance's own win over the LRP's, and these over the defaults. */
export function instanceEnvironment(options: InstanceEnvironmentOptions): Record<string, string> {
  const { index, instanceGuid, ports, address } = options;
  const first = ports[0]?.hostPort;
  const own: Record<string, string> = {
    ...(index !== undefined && { CF_INSTANCE_INDEX: String(index), INSTANCE_INDEX: String(index) }),
    CF_INSTANCE_GUID: instanceGuid,
    INSTANCE_GUID: instanceGuid,
    CF_INSTANCE_IP: address,
    CF_INSTANCE_INTERNAL_IP: address,
    CF_INSTANCE_PORT: first === undefined ? "" : String(first),
    CF_INSTANCE_ADDR: first === undefined ? "" : `${address}:${first}`,
    // The process shares the host's network, so internal and external ports are the same.
    CF_INSTANCE_PORTS: JSON.stringify(ports.map(({ hostPort }) => ({ external: hostPort, internal: hostPort }))),
    HOME: options.home,
    TMPDIR: options.tmp,
  };
  if (first !== undefined)
    Object.assign(own, { PORT: String(first), VCAP_APP_PORT: String(first), VCAP_APP_HOST: "0.0.0.0" });
  const application = completeVcapApplication(options, first);
  if (application !== undefined) own.VCAP_APPLICATION = application;
  return {
    LANG: "en_US.UTF-8",
    USER: "vcap",
    PATH: options.path,
    PWD: options.appDir,
    MEMORY_LIMIT: `${options.memoryMB}m`,
    ...(FILE_VARIABLES.some((name) => name in options.env) ? {} : { VCAP_SERVICES: "{}" }),
    // Many frameworks listen on HOST, else on all interfaces of this machine. The router needs only this address.
    HOST: options.address,
    ...options.env,
    ...own,
  };
}

/** With either, as in Cloud Foundry, there is no VCAP_SERVICES. */
const FILE_VARIABLES = ["SERVICE_BINDING_ROOT", "VCAP_SERVICES_FILE_PATH"];

/** Adds the fields that Cloud Foundry's launcher adds to VCAP_APPLICATION. A value that is no JSON object is unchanged. */
function completeVcapApplication(options: InstanceEnvironmentOptions, port: number | undefined): string | undefined {
  const text = options.env.VCAP_APPLICATION;
  if (text === undefined) return undefined;
  const parsed = parseObject(text);
  if (!parsed) return text;
  const { index, instanceGuid } = options;
  return JSON.stringify({
    ...parsed,
    host: "0.0.0.0",
    instance_id: instanceGuid,
    ...(index !== undefined && { instance_index: index }),
    ...(port !== undefined && { port }),
  });
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch (_error) {
    return undefined;
  }
}
