// State of a test broker, its requests, and its answers.
import type { Behaviour, Behaviours, BrokerOperation, BrokerRequestRecord } from "./behaviour.ts";

export interface Thing {
  body: Record<string, unknown>;
  pending?: { polls: number; state: "succeeded" | "failed"; description: string; end: "made" | "gone" };
}

export interface BrokerState {
  catalog: object;
  username: string;
  password: string;
  behaviours: Behaviours;
  requests: BrokerRequestRecord[];
  /** Instances and bindings, by path. */
  things: Map<string, Thing>;
}

export interface Asked {
  operation: BrokerOperation;
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
  behaviour: Behaviour;
}

export interface Reply {
  status: number;
  text: string;
  headers?: Record<string, string>;
}
