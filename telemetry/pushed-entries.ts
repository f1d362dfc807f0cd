// Receives log lines of other replicas: reads and checks the body of a push.
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { LogEntry } from "./envelope.ts";
import { MAX_PUSH_BYTES, MAX_PUSHED_ENTRIES } from "./log-push.ts";

const body = z.object({
  entries: z
    .array(
      z.object({
        source: z.string().min(1).max(63),
        sourceType: z.string().max(255),
        message: z.string(),
        stream: z.enum(["OUT", "ERR"]).optional(),
        instance: z.string().max(63).optional(),
        tags: z.record(z.string().max(255), z.string().max(1024)).optional(),
        time: z.string().regex(/^\d{1,19}$/),
      }),
    )
    .max(MAX_PUSHED_ENTRIES),
});

/** The lines of a push. @throws Error when the body is too large or none of ours */
export async function readPushedEntries(request: IncomingMessage): Promise<LogEntry[]> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_PUSH_BYTES) throw new Error(`more than ${MAX_PUSH_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { entries } = body.parse(JSON.parse(Buffer.concat(chunks).toString()));
  return entries.map(({ time, ...entry }) => ({ ...entry, time: BigInt(time) }) as LogEntry);
}
