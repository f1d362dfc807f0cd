// Files by which an app finds its bound services, as Cloud Foundry writes them. Pure.
import { VCAP_SERVICES_FILE, type ServicesDelivery } from "../app/features.ts";
import { systemEnv, type BoundService } from "../app/vcap.ts";

export interface BindingFile {
  /** Below the folder of all bindings. */
  path: string;
  text: string;
}

/** Bytes of all paths and texts, as in Cloud Foundry. */
export const MAX_FILES_BYTES = 1_000_000;
/** Files of an app: each is an item of its workloads. */
export const MAX_FILES = 1000;

/** `problem`: why this app can have no files, for its owner. */
export type BindingFiles = { files: BindingFile[] } | { problem: string };

export function toBindingFiles(
  delivery: Exclude<ServicesDelivery, "environment">,
  services: readonly BoundService[],
): BindingFiles {
  if (delivery === "file") return withinBounds([{ path: VCAP_SERVICES_FILE, text: systemEnv(services).VCAP_SERVICES }]);
  const problem = services.map(findProblem).find((found) => found !== undefined) ?? findDuplicate(services);
  return problem === undefined ? withinBounds(services.flatMap(toFiles)) : { problem };
}

function withinBounds(files: BindingFile[]): BindingFiles {
  const bytes = files.reduce((sum, { path, text }) => sum + Buffer.byteLength(path) + Buffer.byteLength(text), 0);
  if (bytes > MAX_FILES_BYTES)
    return { problem: `the bindings have ${bytes} bytes of files, and an app may have ${MAX_FILES_BYTES}` };
  if (files.length > MAX_FILES)
    return { problem: `the bindings have ${files.length} files, and an app may have ${MAX_FILES}` };
  return { files };
}

/** Kubernetes keeps names that begin with two dots for itself. */
const isName = (name: string, pattern: RegExp): boolean => pattern.test(name) && name !== "." && !name.startsWith("..");
const BINDING_NAME = /^[a-z0-9.-]{1,253}$/;
const FILE_NAME = /^[a-z0-9._-]{1,253}$/;

/** No value is in the text, only names. */
function findProblem(service: BoundService): string | undefined {
  const name = nameOf(service);
  if (!isName(name, BINDING_NAME))
    return `the binding name '${name}' is no name of a folder: a to z, 0 to 9, '-' and '.' are allowed; name the binding otherwise`;
  const key = Object.keys(service.credentials ?? {}).find((one) => !isName(one, FILE_NAME));
  return key === undefined
    ? undefined
    : `the credential '${key.slice(0, 253)}' of binding '${name}' is no name of a file: a to z, 0 to 9, '-', '_' and '.' are allowed`;
}

function findDuplicate(services: readonly BoundService[]): string | undefined {
  const names = services.map(nameOf);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? undefined : `two bindings have the name '${twice}'; name one of them otherwise`;
}

const nameOf = ({ name }: BoundService): string => (typeof name === "string" ? name : "");

/** Members of an entry with another name as a file. */
const RENAMED = new Set([
  "binding_guid",
  "binding_name",
  "instance_guid",
  "instance_name",
  "syslog_drain_url",
  "volume_mounts",
]);

/** A credential, then what VCAP_SERVICES says of the binding, which wins; nothing is no file. */
function toFiles({ credentials, ...entry }: BoundService): BindingFile[] {
  const values: Record<string, unknown> = {
    ...credentials,
    ...Object.fromEntries(
      Object.entries(entry).flatMap(([key, value]) =>
        isNothing(value) ? [] : [[RENAMED.has(key) ? key.replaceAll("_", "-") : key, value]],
      ),
    ),
    type: entry.label,
    provider: entry.label,
  };
  return Object.entries(values).flatMap(([key, value]) =>
    isNothing(value)
      ? []
      : [
          {
            path: `${nameOf({ credentials, ...entry })}/${key}`,
            text: typeof value === "string" ? value : JSON.stringify(value),
          },
        ],
  );
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === "object" && Object.keys(value).length === 0);
}
