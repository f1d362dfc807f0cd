// Which ports a start takes. Pure.
export interface Ports {
  /** The CF API and the apps. */
  port: number;
  /** The Kubernetes API. */
  kubePort: number;
}

/** For the first start. */
export const DEFAULT_PORTS: Ports = { port: 8080, kubePort: 6443 };

/** As told, else as at the last start of this home: targets of `cf`, kubeconfigs and bookmarks have them. */
export function choosePorts(told: Partial<Ports>, last: Partial<Ports> = {}): Ports {
  return {
    port: told.port ?? last.port ?? DEFAULT_PORTS.port,
    kubePort: told.kubePort ?? last.kubePort ?? DEFAULT_PORTS.kubePort,
  };
}
