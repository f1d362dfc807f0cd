// Reports of requests to servers outside the cluster, over Node's own channels: free of cost while nobody subscribes, and the client needs no metrics handed to it.
import { channel, type Channel } from "node:diagnostics_channel";

/** A request to another server. */
export interface RequestReport<Operation extends string = string> {
  operation: Operation;
  /** HTTP status; 0 without an answer. */
  code: number;
  seconds: number;
}

export interface RequestReports<Operation extends string> {
  /** Begins to measure a request; the returned function reports its end. */
  begin(operation: () => Operation): (code: number) => void;
  /** Until the returned function is called. */
  follow(listener: (report: RequestReport<Operation>) => void): () => void;
}

/** `name` is the channel's, as in `example.registry-requests`. */
export function createRequestReports<Operation extends string>(name: string): RequestReports<Operation> {
  const reports = channel(name) as Channel<unknown, RequestReport<Operation>>;
  return {
    begin(operation) {
      if (!reports.hasSubscribers) return ignore;
      const startedAt = performance.now();
      return (code) =>
        reports.publish({ operation: operation(), code, seconds: (performance.now() - startedAt) / 1000 });
    },
    follow(listener) {
      const onMessage = (message: unknown): void => listener(message as RequestReport<Operation>);
      reports.subscribe(onMessage);
      return () => void reports.unsubscribe(onMessage);
    },
  };
}

const ignore = (): void => undefined;
