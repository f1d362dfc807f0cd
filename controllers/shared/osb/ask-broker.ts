// A request to the broker of an instance or binding, at the broker's pace.
import type { ProvidedBy } from "../../../crds/service-instance/managed-fields.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ANNOTATIONS } from "../../../crds/labels.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { NotReady, type ReconcileContext } from "../../../kube/controller/controller.ts";
import { MAX_PARAMETERS_BYTES, parametersIn, type ParametersOwner } from "../../../crds/service-instance/parameters.ts";
import { toOwnerReference } from "../app-owned.ts";
import { callBroker, type BrokerAnswer, type BrokerRequest } from "./call-broker.ts";
import { toPacedBroker, type BrokerPace } from "./broker-pace.ts";
import { readBrokerAccess } from "./find-broker.ts";

/** While the broker has its share of requests. */
const PACE_MS = 500;
/** Until a missing broker is looked for again: it is read, not watched. */
const BROKER_MISSING_MS = 30_000;

/** The object about which the broker is asked, and what all requests need. */
interface Asker {
  object: KubeObject;
  context: ReconcileContext;
  pace: BrokerPace;
  apiInfo: string;
}

/**
 * `toRequest` may read from the API server, so it is called only when the broker has a place for the request.
 * @throws NotReady when the broker is gone, its credentials are missing, or it has its share of requests
 */
export async function askBroker(
  { brokerRef }: Pick<ProvidedBy, "brokerRef">,
  toRequest: () => BrokerRequest | Promise<BrokerRequest>,
  { object, context, pace, apiInfo }: Asker,
): Promise<BrokerAnswer> {
  const { read, signal } = context;
  const key = { namespace: brokerRef.namespace ?? "", name: brokerRef.name };
  const broker = read.find(ServiceBroker, key);
  if (!broker)
    throw new NotReady(
      "BrokerMissing",
      `service broker ${key.name} does not exist in namespace ${key.namespace}; create it again, or purge what it made`,
      { isFailure: true, requeueAfterMs: BROKER_MISSING_MS },
    );
  const answer = await pace.run(toPacedBroker(broker, read), async () => {
    const request = { ...(await toRequest()), user: object.metadata.annotations?.[ANNOTATIONS.askedBy], apiInfo };
    return callBroker(await readBrokerAccess(broker, context), request, signal);
  });
  if (!answer)
    throw new NotReady("BrokerBusy", "too many concurrent requests to the broker; retrying", {
      requeueAfterMs: PACE_MS,
    });
  return answer;
}

/** A missing or refused Secret is read again after this time, since no informer watches Secrets. */
const RECHECK_MS = 5000;

/** The parameters in a Secret of the object's namespace that is its own (`label` has its GUID) or labelled for use; undefined without a name. @throws NotReady("ParametersMissing") */
export async function readParameters(
  name: string | undefined,
  { ref, object, ...own }: ParametersOwner & { ref: ResourceRef; object: KubeObject },
  { client }: Pick<ReconcileContext, "client">,
): Promise<object | undefined> {
  if (name === undefined) return undefined;
  const key = { namespace: object.metadata.namespace ?? "", name };
  const secret = await client.find(Secret, key);
  const parameters = parametersIn(secret, own);
  if (parameters) {
    // The API made it before the object, and may have ended before it could say whose it is.
    if (secret?.metadata.labels?.[own.label] === own.guid && !secret.metadata.ownerReferences?.length) {
      const ownerReferences = [toOwnerReference(object, ref)];
      await client.patch(Secret, key, { type: "merge", body: { metadata: { ownerReferences } } });
    }
    return parameters;
  }
  throw new NotReady(
    "ParametersMissing",
    `Secret ${name} does not exist, has no JSON object of at most ${MAX_PARAMETERS_BYTES} bytes in its key parameters, or is neither its own nor labelled cupola.dev/env=allowed; correct it`,
    { isFailure: true, requeueAfterMs: RECHECK_MS },
  );
}
