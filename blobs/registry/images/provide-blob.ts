// Gives a repository a blob of another one: mounted within a registry, sent from one registry to another.
import type { Descriptor } from "../image-manifest.ts";
import type { Place } from "../place.ts";
import type { RegistryClient } from "../registry-client.ts";
import { spool } from "../spool.ts";

/** Sends a blob unless it is there. @throws ImageNotFound when `from` has no such blob, RegistryError */
export async function provideBlob(
  client: RegistryClient,
  { digest, size }: Pick<Descriptor, "digest" | "size">,
  { from, to }: { from: Place; to: Place },
): Promise<void> {
  if (await client.hasBlob(to, digest)) return;
  if (from.host === to.host && (await client.mountBlob(to, digest, from.repository))) return;
  const spooled = await spool(await client.openBlob(from, { digest, size }), { maxBytes: size, owner: to.repository });
  try {
    await client.uploadBlob(to, spooled.source);
  } finally {
    await spooled.remove();
  }
}
