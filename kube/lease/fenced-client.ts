// A client that writes only while a term of leadership lasts: a process that stalled past its term must not write.
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/errors.ts";

type Write = (...args: never[]) => Promise<unknown>;

/** The same client; a write after the term fails with KubeError (code 0, reason Fenced). Reads pass. `close` is a no-op. */
export function createFencedClient(client: KubeClient, isHeld: () => boolean): KubeClient {
  const fenced = <W extends Write>(write: W): W =>
    ((...args: Parameters<W>) => (isHeld() ? write(...args) : refuse())) as W;
  return {
    ...client,
    create: fenced(client.create),
    update: fenced(client.update),
    updateStatus: fenced(client.updateStatus),
    patch: fenced(client.patch),
    apply: fenced(client.apply),
    delete: fenced(client.delete),
    raw: (method, ...rest) => (method === "GET" || isHeld() ? client.raw(method, ...rest) : refuse()),
    stream: (method, ...rest) => (method === "GET" || isHeld() ? client.stream(method, ...rest) : refuse()),
    as: (identity) => createFencedClient(client.as(identity), isHeld),
    close: () => Promise.resolve(),
  };
}

function refuse(): Promise<never> {
  return Promise.reject(
    new KubeError({ code: 0, reason: "Fenced", message: "this process is no longer the leader, so it does not write" }),
  );
}
