// An object that a broker provides, and one request about it: one at a time for an instance with its bindings, at the broker's pace.
import type { LastOperation, PendingOperation, ProvidedBy } from "../../../crds/service-instance/managed-fields.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { NotReady, type ReconcileContext } from "../../../kube/controller/controller.ts";
import { askBroker } from "./ask-broker.ts";
import type { BrokerMemory } from "./broker-memory.ts";
import type { BrokerPace } from "./broker-pace.ts";
import type { BrokerAnswer, BrokerRequest } from "./call-broker.ts";
import type { InstanceTurns } from "./instance-turns.ts";
import { toOutcome, type Asked, type Outcome } from "./outcomes.ts";

/** State that all controllers share which ask brokers. */
export interface Brokers {
  pace: BrokerPace;
  /** At most one request at a time for each instance, by its GUID: brokers may refuse more. */
  turns: InstanceTurns;
  memory: BrokerMemory;
  /** Where brokers read how to log in at this platform. */
  apiInfo: string;
}

export interface Provided extends Brokers {
  object: KubeObject;
  guid: string;
  /** GUID of the instance, which is its own or its binding's. */
  instanceGUID: string;
  provided: ProvidedBy;
  last: LastOperation | undefined;
  operation: PendingOperation | undefined;
  /** Seconds that the plan which the broker has allows. */
  maximumSeconds: number | undefined;
  /** Names a person's latest wish to have it deleted, so that a repeated one is heard. */
  wish?: string | undefined;
  removal: "deprovision" | "unbind";
  requests: { poll: (operation: string | undefined) => BrokerRequest; remove: () => BrokerRequest };
  /** Further status of a failed operation. */
  failedStatus?: (last: LastOperation) => Record<string, unknown>;
  context: ReconcileContext;
}

/** While another request about the instance is under way. */
const TURN_MS = 500;

/** Asks the broker to do something, when it is the instance's turn. An answer whose status may not have been written is known for a while, so that nothing is asked twice. @throws NotReady while it has to wait */
export async function askInTurn(
  work: Provided,
  asked: Asked,
  toRequest: () => Promise<BrokerRequest>,
): Promise<BrokerAnswer> {
  const { guid, last, operation, context, memory, wish } = work;
  const step = [asked, guid, last?.createdAt, operation?.attempts, wish].join(" ");
  const known = memory.findAnswer(step, context.now());
  if (known) return known;
  const answer = await work.turns.run(work.instanceGUID, () => askBroker(work.provided, toRequest, work));
  if (!answer)
    throw new NotReady("InstanceBusy", "another request about the service instance is under way; retrying", {
      requeueAfterMs: TURN_MS,
    });
  memory.keepAnswer(step, answer, context.now());
  return answer;
}

/** The outcome of a request. A broker that is gone, or whose credentials are, is asked later. @throws NotReady while it has to wait */
export async function toAskedOutcome(
  asking: Promise<BrokerAnswer>,
  toOutcome: (answer: BrokerAnswer) => Outcome,
): Promise<Outcome> {
  try {
    return toOutcome(await asking);
  } catch (error) {
    if (!isBrokerMissing(error)) throw error;
    return { kind: "later", why: error.message, retryAfterSeconds: undefined };
  }
}

/** Asks the broker to delete it. @throws NotReady while it has to wait */
export function askRemoval(work: Provided): Promise<Outcome> {
  const asking = askInTurn(work, work.removal, () => Promise.resolve(work.requests.remove()));
  return toAskedOutcome(asking, (answer) => toOutcome(work.removal, answer));
}

const MISSING_REASONS = new Set(["BrokerMissing", "CredentialsMissing", "CABundleInvalid"]);

/** Is there no broker to ask, or are its credentials or certificates missing? */
export function isBrokerMissing(error: unknown): error is NotReady {
  return error instanceof NotReady && MISSING_REASONS.has(error.reason);
}
