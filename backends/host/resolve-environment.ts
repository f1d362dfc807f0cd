// Reads the values of a workload's environment, at each start. They are stored nowhere.
import type { EnvVar } from "../../crds/schema-fields.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { StartFailed } from "./start-failed.ts";
import type { Environment } from "./host-environment.ts";

/** Values by name. @throws StartFailed that names the missing Secret and key, and no value */
export async function resolveEnvironment(
  client: Pick<KubeClient, "find">,
  namespace: string,
  variables: readonly EnvVar[],
): Promise<Environment> {
  const names = new Set(variables.flatMap((variable) => variable.valueFrom?.secretKeyRef.name ?? []));
  const secrets = new Map(
    await Promise.all([...names].map(async (name) => [name, await client.find(Secret, { namespace, name })] as const)),
  );
  return Object.fromEntries(
    variables.map((variable) => {
      const ref = variable.valueFrom?.secretKeyRef;
      if (!ref) return [variable.name, variable.value ?? ""];
      const data = secrets.get(ref.name)?.data ?? {};
      const encoded = Object.hasOwn(data, ref.key) ? data[ref.key] : undefined;
      if (encoded === undefined)
        throw new StartFailed({ kind: "secretMissing", variable: variable.name, secret: ref.name, key: ref.key });
      return [variable.name, Buffer.from(encoded, "base64").toString()];
    }),
  );
}
