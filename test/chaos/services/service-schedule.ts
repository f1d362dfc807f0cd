// A run of chaos with a service broker: what people do with services, and at which of its calls the leader that asks it is killed, all from one number. Pure.
import { randomFrom } from "../../random.ts";
import type { BrokerOperation } from "../../service-broker/behaviour.ts";

const OPERATIONS = [
  "provision",
  "update",
  "deprovision",
  "bind",
  "unbind",
] as const satisfies readonly BrokerOperation[];
type Operation = (typeof OPERATIONS)[number];

/**
 * When the leader dies: before the broker does what it is asked, which it then does or has never seen; before it answers; or `afterMs` after its answer,
 * when the leader writes a status, or takes a finalizer away.
 */
export type KillMoment = "lost" | "received" | "done" | "answered";

export interface LeaderKill {
  operation: Operation | "last_operation";
  /** The call of this operation, from 1. */
  call: number;
  moment: KillMoment;
  afterMs: number;
}

/** An instance with keys: made, updated, unbound, deleted. */
export interface ServiceLoad {
  name: string;
  keys: number;
  isUpdated: boolean;
  /** The broker makes it, and answers 500: it has to be taken back. */
  isBroken: boolean;
  /** Deleted with the keys that it still has. */
  isDeleted: boolean;
}

export interface ServiceSchedule {
  seed: number;
  services: readonly ServiceLoad[];
  /** Operations that the broker ends by itself, after so many questions. */
  polls: Readonly<Partial<Record<Operation, number>>>;
  kills: readonly LeaderKill[];
}

const SERVICES = 5;
const KILLS = 3;
const MAX_CALL = 4;
const MAX_AFTER_MS = 40;

/** The schedule of a seed; the same one every time. */
export function planServiceSchedule(seed: number): ServiceSchedule {
  const random = randomFrom(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const services = Array.from({ length: SERVICES }, (_none, at): ServiceLoad => ({
    name: `db-${seed}-${at}`,
    keys: 1 + below(2),
    isUpdated: random() < 0.5,
    isBroken: at === 0 && random() < 0.5,
    isDeleted: random() < 0.6,
  }));
  const polls = Object.fromEntries(
    OPERATIONS.flatMap((operation) => (random() < 0.4 ? [[operation, below(2)] as const] : [])),
  );
  return { seed, services, polls, kills: Array.from({ length: KILLS }, () => planKill(below, Object.keys(polls))) };
}

const MOMENTS = ["lost", "received", "done", "answered"] as const satisfies readonly KillMoment[];

function planKill(below: (most: number) => number, asynchronous: readonly string[]): LeaderKill {
  const choices = asynchronous.length > 0 ? [...OPERATIONS, "last_operation" as const] : OPERATIONS;
  return {
    operation: choices[below(choices.length)] ?? "provision",
    call: 1 + below(MAX_CALL),
    moment: MOMENTS[below(MOMENTS.length)] ?? "done",
    afterMs: below(MAX_AFTER_MS),
  };
}
