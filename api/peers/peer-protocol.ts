// The protocol between replicas of the API: small JSON bodies over keep-alive connections, with a token that only replicas know.
import { Pool } from "undici";
import { z } from "zod";

/** A replica's address for its peers. */
export const peerSchema = z.object({
  /** Unique per process start. */
  identity: z.string().min(1).max(253),
  url: z.url().max(500),
  /** CA of its TLS certificate, PEM. Absent on loopback. */
  authority: z.string().max(4000).optional(),
});
export type Peer = z.output<typeof peerSchema>;

const marks = z
  .array(
    z.object({
      resource: z.string().max(300),
      namespace: z.string().max(63).optional(),
      version: z.string().max(40),
      gone: z.string().max(100).optional(),
    }),
  )
  .max(20_000);

/** `POST /replicas/floors`: the sender's writes. Answered once they are observed, or after a short timeout. */
export const marksPath = "/replicas/floors";
export const marksSchema = z.object({ marks });
/** `POST /replicas/hello`: the sender subscribes to all writes; the reply has the marks that it may have missed. */
export const helloPath = "/replicas/hello";
export const helloSchema = z.object({ peer: peerSchema });

/** Every reply names its sender: another process may have the address by now. */
const answerSchema = z.object({ identity: z.string(), marks: marks.default([]) });
export type PeerAnswer = z.input<typeof answerSchema>;

/** Bound of a body, bytes. */
export const maxPeerBody = 4 << 20;

export interface PeerConnection {
  /** @throws Error when that peer does not answer in time */
  post(path: string, body: object, deadlineMs: number): Promise<z.output<typeof answerSchema>>;
  close(): Promise<void>;
}

export function openPeerConnection(peer: Peer, token: () => string): PeerConnection {
  const pool = new Pool(new URL(peer.url).origin, {
    connections: 4,
    keepAliveTimeout: 30_000,
    connect: { timeout: 2000, ...(peer.authority && { ca: peer.authority }) },
  });
  const exchange = async (
    path: string,
    body: string,
    signal: AbortSignal,
  ): Promise<{ statusCode: number; text: string }> => {
    const headers = { authorization: `Bearer ${token()}`, "content-type": "application/json" };
    const { statusCode, body: answer } = await pool.request({ method: "POST", path, headers, body, signal });
    return { statusCode, text: await answer.text() };
  };
  return {
    async post(path, body, deadlineMs) {
      const signal = AbortSignal.timeout(deadlineMs);
      const { statusCode, text } = await exchange(path, JSON.stringify(body), signal).catch((cause: unknown) => {
        throw signal.aborted
          ? new Error(`replica ${peer.identity} did not answer within ${deadlineMs} ms`, { cause })
          : cause;
      });
      if (statusCode !== 200) throw new Error(`replica ${peer.identity} answered ${statusCode}`);
      const reply = answerSchema.parse(JSON.parse(text));
      if (reply.identity !== peer.identity) throw new PeerReplaced(`${peer.url} is not ${peer.identity} any more`);
      return reply;
    },
    close: () => pool.destroy(),
  };
}

/** The peer is gone: another process has its address. */
class PeerReplaced extends Error {}

/** Whether an error of `post` means that the peer's process is gone, rather than slow or partitioned. */
export function isPeerGone(error: unknown): boolean {
  return (
    error instanceof PeerReplaced ||
    (error instanceof Error && (error as NodeJS.ErrnoException).code === "ECONNREFUSED")
  );
}
