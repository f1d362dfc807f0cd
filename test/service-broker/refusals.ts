// Refusals of a real broker: requests without what the Open Service Broker API requires, and those that meet another one. Pure.
import type { BrokerOperation } from "./behaviour.ts";
import type { Asked, BrokerState, Reply } from "./broker-state.ts";

const reply = (status: number, body: object): Reply => ({ status, text: JSON.stringify(body) });

const ASYNC = { error: "AsyncRequired", description: "this plan needs accepts_incomplete=true" };
const BUSY = { error: "ConcurrencyError", description: "another operation is under way" };

/** Where the ids of service and plan are to be. */
const IDS: Partial<Record<BrokerOperation, "body" | "query">> = {
  provision: "body",
  update: "body",
  bind: "body",
  deprovision: "query",
  unbind: "query",
};

export function refuse(state: BrokerState, asked: Asked): Reply | undefined {
  const place = IDS[asked.operation];
  if (!place) return undefined;
  const missing = ["service_id", "plan_id"].find((name) => !readID(asked, place, name));
  if (missing !== undefined) return reply(400, { description: `${missing} is missing` });
  if (asked.behaviour.async && asked.query.get("accepts_incomplete") !== "true") return reply(422, ASYNC);
  if (isBusy(state, asked)) return reply(422, BUSY);
  return hasBindings(state, asked) ? reply(400, { description: "the instance has bindings" }) : undefined;
}

function readID({ body, query }: Asked, place: "body" | "query", name: string): unknown {
  return place === "body" ? body[name] : query.get(name);
}

const ENDS: Partial<Record<BrokerOperation, "made" | "gone">> = {
  provision: "made",
  bind: "made",
  deprovision: "gone",
  unbind: "gone",
};

/** The instance, or one of its bindings, has not finished. The same request for the same thing, sent again, is no other one. */
function isBusy({ things }: BrokerState, { operation, path }: Asked): boolean {
  const [instance = path] = path.split("/service_bindings/");
  return [...things].some(
    ([other, { pending }]) =>
      pending !== undefined &&
      (other === instance || other.startsWith(`${instance}/`)) &&
      !(other === path && pending.end === ENDS[operation]),
  );
}

function hasBindings({ things }: BrokerState, { operation, path }: Asked): boolean {
  return operation === "deprovision" && [...things.keys()].some((other) => other.startsWith(`${path}/`));
}
