// Behaviour of a test broker: by operation, set over HTTP while it runs.

export const BROKER_OPERATIONS = [
  "catalog",
  "provision",
  "update",
  "deprovision",
  "bind",
  "unbind",
  "last_operation",
  "fetch",
] as const;
export type BrokerOperation = (typeof BROKER_OPERATIONS)[number];

/** How an operation is answered. Nothing given: at once, and well. */
export interface Behaviour {
  /** 202, and done after so many questions. Only for brokers' operations on instances and bindings. */
  async?: { polls: number; state?: "succeeded" | "failed"; description?: string; retryAfterSeconds?: number };
  /** This instead of what would be true; `text` need not be JSON. */
  answer?: { status: number; text?: string; headers?: Record<string, string> };
  /** Milliseconds before anything is answered. */
  delayMs?: number;
  /** The connection stays open, and nothing comes. */
  silent?: true;
  /** Members of a binding's answer besides `credentials`. */
  more?: Record<string, unknown>;
}

export type Behaviours = Partial<Record<BrokerOperation, Behaviour>>;

/** Settings at `PUT /control`: a member that is left out stays. */
export interface Control {
  catalog?: object;
  username?: string;
  password?: string;
  behaviours?: Behaviours;
}

/** Requests to the broker, at `GET /control/requests`. */
export interface BrokerRequestRecord {
  operation: BrokerOperation;
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body?: unknown;
  status: number;
}

export const TEST_CATALOG = {
  services: [
    {
      id: "service-1",
      name: "database",
      description: "A database",
      bindable: true,
      bindings_retrievable: true,
      instances_retrievable: true,
      plan_updateable: true,
      allow_context_updates: true,
      tags: ["sql"],
      requires: [],
      metadata: { documentationUrl: "https://docs.example.com", shareable: true },
      plans: [
        { id: "plan-small", name: "small", description: "A small one", free: true },
        {
          id: "plan-large",
          name: "large",
          description: "A large one",
          free: false,
          metadata: { costs: [{ amount: { usd: 9.5 }, unit: "MONTHLY" }] },
          maintenance_info: { version: "2.0.0", description: "Newer" },
          schemas: { service_instance: { create: { parameters: { type: "object" } } } },
        },
      ],
    },
  ],
};
