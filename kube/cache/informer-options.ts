// What callers pass to informers, and the status that informers report. Types only.
import type { Logger } from "pino";
import type { KubeObject } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import type { KubeClient } from "../client/client.ts";
import type { IndexFunction, ParkReason, WatchState } from "./reader.ts";
import type { ReflectorTiming, WatchErrorAction } from "./reflector.ts";
import type { NamespaceScope } from "./scoped/watched-namespaces.ts";

export interface InformersOptions {
  client: KubeClient;
  log: Logger;
  /** For kinds whose `ensure` gave none. Runs before managedFields are dropped; may change and return the same object. */
  transform?: (object: KubeObject, ref: ResourceRef) => KubeObject;
  /** Freeze cached objects, so that changing one throws. For tests. */
  freeze?: boolean;
  timing?: Partial<ReflectorTiming>;
  /** How long a watch outlives its last user; 30 s unless said. */
  lingerMs?: number;
  /** Where a namespaced kind is watched when it may not be watched whole. Without it only namespaces that are asked for by name are. */
  namespaceScope?: NamespaceScope;
}

export interface EnsureOptions<T extends KubeObject> {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Metadata is enough: no spec, no status, no data is held (unless somebody else watches the whole objects anyway). */
  metadata?: boolean;
  /** What to do about a failure of this watch; undefined leaves it to the rules of Reflector. Given for a new watch only. */
  onError?: (error: unknown) => WatchErrorAction | undefined;
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** As in WatchesOptions. The first one given for a watch stays. */
  transform?: (object: T) => T;
  /** Field managers whose applied managedFields entries stay in the cache. */
  keepFieldsOf?: readonly string[];
  /** The watch is opened again, and a silent server taken for dead, so often that `heardAt` need never be older. Milliseconds, 2,000 or more. */
  maxStalenessMs?: number;
}

export interface InformerStatus {
  resource: string;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  state: WatchState;
  parkReason?: ParkReason;
  synced: boolean;
  /** Only where namespaces are watched one by one: how many, and those of them that are not being watched right now. */
  namespaces?: number;
  notWatching?: { namespace: string; state: WatchState; parkReason?: ParkReason }[];
}
