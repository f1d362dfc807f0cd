// Whether a space has content of the blob store: BlobStore.has, without the blob store.
export type HasContent = (space: string, digest: string) => Promise<boolean>;
