// An API request before credentials and address are added.
import type { CallOptions, WriteOptions } from "./client.ts";

/** Undefined and empty values are left out. */
export type Query = Record<string, string | number | boolean | undefined>;

export interface OutgoingRequest {
  method: string;
  path: string;
  query?: Query;
  body?: unknown;
  contentType?: string;
  accept?: string | undefined;
  call?: (CallOptions & Pick<WriteOptions, "onWarning">) | undefined;
}

/** Sends a request and parses the JSON answer. @throws KubeError */
export type Send = <T>(out: OutgoingRequest) => Promise<T>;

/** `accept` values that request metadata only. */
export const METADATA_ACCEPT = {
  list: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  watch: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
};
