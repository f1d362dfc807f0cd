// The text of a GET at the API server, within a deadline and a size.
import type { KubeClient } from "../../kube/client/client.ts";

export interface TextRequest {
  path: string;
  headers?: Record<string, string>;
  /** For the head and the body together. */
  deadlineMs: number;
  maxBytes: number;
  signal: AbortSignal;
}

/** At most `maxBytes` of it: the rest is not read. @throws KubeError, or a DOMException when the body does not end in time */
export async function readText(
  kube: KubeClient,
  { path, headers, deadlineMs, maxBytes, signal }: TextRequest,
): Promise<string> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
  const { body } = await kube.stream("GET", path, { signal: late, deadlineMs, ...(headers && { headers }) });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString();
}
