// Options of informers, and the status that informers report. Types only.
import type { Logger } from "pino";
import type { KubeObject } from "../api/object.ts";
import type { ResourceRef } from "../api/resource-ref.ts";
import type { KubeClient } from "../client/client.ts";
import type { IndexFunction, ParkReason, WatchState } from "./reader.ts";
import type { WatchErrorAction } from "./reflector.ts";
import type { ReflectorTiming } from "./reflector-timing.ts";
import type { NamespaceScope } from "./scoped/watched-namespaces.ts";

export interface InformersOptions {
  client: KubeClient;
  log: Logger;
  /** For kinds whose `ensure` passes none. Runs before managedFields are stripped; may mutate and return the same object. */
  transform?: (object: KubeObject, ref: ResourceRef) => KubeObject;
  /** Freezes cached objects, so that a mutation throws. For tests. */
  freeze?: boolean;
  timing?: Partial<ReflectorTiming>;
  /** How long a watch outlives its last user; 30 s by default. */
  lingerMs?: number;
  /** Namespaces to watch one by one when a namespaced kind may not be watched cluster-wide. By default only explicitly requested ones. */
  namespaceScope?: NamespaceScope;
}

export interface EnsureOptions<T extends KubeObject> {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Caches metadata only, unless another user already watches whole objects. */
  metadata?: boolean;
  /** Overrides the reflector's error handling; undefined keeps it. Used only when this call starts the watch. */
  onError?: (error: unknown) => WatchErrorAction | undefined;
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** As in InformersOptions. The first transform of a watch stays. */
  transform?: (object: T) => T;
  /** Field managers whose applied managedFields entries stay in the cache. */
  keepFieldsOf?: readonly string[];
  /** Upper bound of `performance.now() - freshAsOf()` in milliseconds, at least 2,000: watches are reopened and dead peers detected this often. */
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
  /** Only for namespaces watched one by one: their number, and those not in state "watching". */
  namespaces?: number;
  notWatching?: { namespace: string; state: WatchState; parkReason?: ParkReason }[];
}
