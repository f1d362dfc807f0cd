// Reads the values of an LRP's environment. Asked for at each start, kept nowhere.
import { Secret } from "../../../kube/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";

/** Values by name. @throws Error that names the Secret and key that is missing, never a value */
export async function resolveEnv(client: Pick<KubeClient, "find">, lrp: LRP): Promise<Record<string, string>> {
  const namespace = lrp.metadata.namespace ?? "";
  const names = new Set(lrp.spec.env.flatMap((variable) => variable.valueFrom?.secretKeyRef.name ?? []));
  const secrets = new Map(await Promise.all([...names].map(async (name) => [name, await client.find(Secret, { namespace, name })] as const)));
  return Object.fromEntries(
    lrp.spec.env.map((variable) => {
      const ref = variable.valueFrom?.secretKeyRef;
      if (!ref) return [variable.name, variable.value ?? ""];
      const encoded = secrets.get(ref.name)?.data?.[ref.key];
      if (encoded === undefined) throw new Error(`variable ${variable.name} needs key ${ref.key} of Secret ${ref.name} in ${namespace}, which is not there`);
      return [variable.name, Buffer.from(encoded, "base64").toString()];
    }),
  );
}
