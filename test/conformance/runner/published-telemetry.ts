// Reads logs and stats as the contract says that a class serves them: at the address in its BackendClass, with the token of that address.
import { z } from "zod";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { deriveAddressToken } from "../../../platform/peers/address-token.ts";
import type { InstanceUsage, LogLine } from "./environment.ts";

const logAnswer = z.object({
  envelopes: z.object({
    batch: z.array(
      z.object({
        instance_id: z.string(),
        tags: z.object({ source_type: z.string() }),
        log: z.object({ payload: z.string(), type: z.enum(["OUT", "ERR"]) }),
      }),
    ),
  }),
});
const statsAnswer = z.object({
  instances: z.array(z.object({ index: z.number(), usage: z.object({ mem: z.number(), cpu: z.number() }) })),
});

export interface PublishedTelemetry {
  logs(lrp: LRP): Promise<LogLine[]>;
  usage(lrp: LRP): Promise<InstanceUsage[]>;
}

export function publishedTelemetry(client: KubeClient, className: string): PublishedTelemetry {
  const get = async (path: string): Promise<unknown> => {
    const { status } = await client.get(BackendClass, { name: className });
    const { url = "", secretRef } = status?.endpoint ?? {};
    const { data } = await client.get(Secret, { namespace: SYSTEM_NAMESPACE, name: secretRef?.name ?? "" });
    const token = deriveAddressToken(Buffer.from(data?.["token"] ?? "", "base64").toString(), "telemetry", url);
    const response = await fetch(`${url}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(5000),
    });
    if (!response.ok) throw new Error(`${path} answers ${response.status}`);
    return response.json();
  };
  return {
    async logs({ spec }) {
      const answer = logAnswer.parse(await get(`/logs/${spec.app.guid}?limit=1000`));
      return answer.envelopes.batch
        .filter(({ tags }) => tags.source_type === `APP/PROC/${spec.processType.toUpperCase()}`)
        .map(({ instance_id, log }) => ({
          index: Number(instance_id),
          stream: log.type,
          text: Buffer.from(log.payload, "base64").toString(),
        }));
    },
    async usage({ metadata }) {
      const { instances } = statsAnswer.parse(await get(`/stats?lrp=${metadata.uid ?? ""}`));
      return instances.map(({ index, usage }) => ({ index, ...usage }));
    },
  };
}
