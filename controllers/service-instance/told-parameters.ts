// The parameters that a broker tells of an instance, kept in a Secret so that they can be read: after each operation, from brokers that tell.
import { LABELS } from "../../crds/labels.ts";
import type { ProvidedBy } from "../../crds/service-instance/managed-fields.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { askBroker } from "../shared/osb/ask-broker.ts";
import { findProvidedPlan } from "../shared/osb/provided-plan.ts";
import { isBrokerMissing, type Provided } from "../shared/osb/provided.ts";
import { putOwnSecret } from "../shared/own-secret.ts";
import { toInstanceRead } from "./broker-requests.ts";

export function toldParametersName(instance: string): string {
  return `${instance}-parameters-told`;
}

/** Status after an operation that has brought `provided` about. A broker that does not tell, or fails to, changes nothing but that. */
export async function keepToldParameters(
  instance: ServiceInstance,
  provided: ProvidedBy,
  work: Provided,
): Promise<Record<string, unknown>> {
  const parameters = await readTold(provided, work);
  if (!parameters) return { toldParameters: undefined };
  const name = toldParametersName(instance.metadata.name);
  const data = { parameters: Buffer.from(JSON.stringify(parameters)).toString("base64") };
  const label = { key: LABELS.serviceInstance, guid: work.guid };
  await putOwnSecret({ ref: ServiceInstance, object: instance }, { name, type: "Opaque", label, data }, work.context);
  return { toldParameters: { name } };
}

/** Undefined where the broker does not tell them. @throws NotReady while the broker is at its concurrency limit */
async function readTold(provided: ProvidedBy, work: Provided): Promise<object | undefined> {
  if (!findProvidedPlan(provided, work.context.read).offering?.spec.instancesRetrievable) return undefined;
  try {
    const answer = await askBroker(provided, () => toInstanceRead(work.guid, provided), work);
    return answer.kind === "answer" && answer.status === 200 ? parametersOf(answer.body) : undefined;
  } catch (error) {
    if (!isBrokerMissing(error)) throw error;
    return undefined;
  }
}

function parametersOf(body: Record<string, unknown> | undefined): object | undefined {
  const { parameters = {} } = body ?? {};
  const isObject = typeof parameters === "object" && parameters !== null && !Array.isArray(parameters);
  return body && (isObject ? parameters : {});
}
