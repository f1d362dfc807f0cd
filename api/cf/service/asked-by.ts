// Names the caller as the person who asks a service broker for something. Brokers are told who it is.
import { ANNOTATIONS } from "../../../crds/labels.ts";
import type { Session } from "../../access/session.ts";

/** Annotations of an instance or binding that is to be made, changed or deleted at its broker. */
export function askedBy({ caller }: Pick<Session, "caller">): Record<string, string> {
  return { [ANNOTATIONS.askedBy]: caller.name };
}

/** `metadata` of a write, with the caller as the person who asks. */
export function withAsker<T extends { annotations?: object }>(
  session: Pick<Session, "caller">,
  metadata: T | undefined,
): object {
  return { ...metadata, annotations: { ...metadata?.annotations, ...askedBy(session) } };
}
