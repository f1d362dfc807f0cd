// How many requests a broker gets at once, of all controllers together: one that is silent delays nobody else's.

export interface BrokerPace {
  /** Runs `call` now; undefined when the broker has its share already: come back later. */
  run<T>(broker: string, call: () => Promise<T>): Promise<T | undefined>;
}

export function createBrokerPace(atOnce: number): BrokerPace {
  const underWay = new Map<string, number>();
  return {
    async run(broker, call) {
      const count = underWay.get(broker) ?? 0;
      if (count >= atOnce) return undefined;
      underWay.set(broker, count + 1);
      try {
        return await call();
      } finally {
        const left = (underWay.get(broker) ?? 1) - 1;
        if (left > 0) underWay.set(broker, left);
        else underWay.delete(broker);
      }
    },
  };
}
