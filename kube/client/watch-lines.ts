// Splits the body of a watch into its JSON lines.
import { parseJson } from "../api/parse-json.ts";

const NEWLINE = 10;
/** etcd limits objects to about 1.5 MiB; a much longer line is no watch event. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;

/** A parsed value per line. @throws NotJson on a line that is not JSON. */
export async function* watchLines(body: AsyncIterable<Buffer>): AsyncGenerator<unknown, void, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const line = parts.length > 0 ? Buffer.concat([...parts, chunk.subarray(from, end)]) : chunk.subarray(from, end);
      parts = [];
      size = 0;
      from = end + 1;
      if (line.length > 0) yield parseJson(line.toString("utf8"));
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > MAX_LINE_BYTES) throw new RangeError(`a watch line is longer than ${MAX_LINE_BYTES} bytes`);
  }
}
