// A content store of any kind, for the tests that every kind passes.
import type { BlobStore } from "../blob-store.ts";

export const space = "0190aaaa-0000-7000-8000-000000000001";
export const otherSpace = "0190aaaa-0000-7000-8000-000000000002";
export const maxBytes = 10_000_000;

export interface StoreUnderTest {
  store: BlobStore;
  /** Names of unfinished uploads that the store still keeps. */
  leftovers(): Promise<string[]>;
}

/** Makes an empty store; one on a disk may use `folder`, which does not exist yet. */
export type OpenStore = (folder: string) => Promise<StoreUnderTest>;
