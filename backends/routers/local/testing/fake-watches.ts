// The stores that a router follows, fed by hand.
import type { KubeObject } from "../../../../kube/api/object.ts";
import type { Informers } from "../../../../kube/cache/informers.ts";
import type { Change } from "../../../../kube/cache/reader.ts";

export interface FakeWatches {
  informers: Informers;
  put: (object: KubeObject, type?: "added" | "deleted") => void;
}

export function fakeWatches(): FakeWatches {
  const listeners: Record<string, ((change: Change<KubeObject>) => void)[]> = {};
  const ensure = ({ kind }: { kind: string }) => ({
    release: () => undefined,
    store: {
      synced: true,
      list: () => [],
      onChange: (listener: (change: Change<KubeObject>) => void) => (
        (listeners[kind] ??= []).push(listener),
        () => undefined
      ),
    },
  });
  const put = (object: KubeObject, type: "added" | "deleted" = "added"): void =>
    listeners[object.kind]?.forEach((listener) => listener({ type, object, old: object, initial: false }));
  return { informers: { ensure } as unknown as Informers, put };
}
