// Files of bound services on this machine: in a folder of one start, which the variables then name.
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { MountedFiles } from "../../crds/mounted-files.ts";
import type { EnvVar } from "../../crds/schema-fields.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Environment } from "./host-environment.ts";
import { resolveEnvironment } from "./resolve-environment.ts";
import { StartFailed } from "./start-failed.ts";

/** The values of a workload's variables, after its files are in the folder. @throws StartFailed that names the missing Secret and key */
export async function prepareEnvironment(
  client: Pick<KubeClient, "find">,
  workload: Workload,
  folder: string,
): Promise<Environment> {
  const variables = await locateEnvironment(client, workload, folder);
  const { namespace = "" } = workload.metadata;
  const files = workload.spec.serviceFiles;
  if (files) await placeFiles(client, { namespace, files }, folder);
  return variables;
}

/** The same values for one more program of a start, whose files stay as they are. @throws StartFailed that names the missing Secret and key */
export async function locateEnvironment(
  client: Pick<KubeClient, "find">,
  { metadata: { namespace = "" }, spec: { env, serviceFiles } }: Workload,
  folder: string,
): Promise<Environment> {
  const variables = await resolveEnvironment(client, namespace, env);
  return serviceFiles ? relocateVariables(variables, serviceFiles.mountPath, folder) : variables;
}

interface Workload {
  metadata: { namespace?: string };
  spec: { env: readonly EnvVar[]; serviceFiles?: MountedFiles | undefined };
}

/** Only the user of this machine reads them. The caller removes the folder. */
async function placeFiles(
  client: Pick<KubeClient, "find">,
  { namespace, files }: { namespace: string; files: MountedFiles },
  folder: string,
): Promise<void> {
  const { data = {} } = (await client.find(Secret, { namespace, name: files.secretRef.name })) ?? {};
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700);
  for (const { key, path } of files.items) {
    const encoded = Object.hasOwn(data, key) ? data[key] : undefined;
    if (encoded === undefined) throw new StartFailed({ kind: "secretMissing", secret: files.secretRef.name, key });
    const place = join(folder, path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, Buffer.from(encoded, "base64"), { mode: 0o600 });
  }
}

/** Variables that name the folder of the files, or one in it, name the other place. Pure. */
function relocateVariables(env: Environment, mountPath: string, folder: string): Environment {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      value === mountPath || value?.startsWith(`${mountPath}/`) ? folder + value.slice(mountPath.length) : value,
    ]),
  );
}
