// At most one request at a time about an instance and its bindings, of all controllers together: a broker may refuse more.

export interface InstanceTurns {
  /** Runs `call` now; undefined while another one about the instance is under way: come back later. */
  run<T>(instanceGUID: string, call: () => Promise<T>): Promise<T | undefined>;
}

export function createInstanceTurns(): InstanceTurns {
  const underWay = new Set<string>();
  return {
    async run(instanceGUID, call) {
      if (underWay.has(instanceGUID)) return undefined;
      underWay.add(instanceGUID);
      try {
        return await call();
      } finally {
        underWay.delete(instanceGUID);
      }
    },
  };
}
