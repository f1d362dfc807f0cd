// Reads what kubectl asked from its own log at verbosity 9, where each request stands as a curl line with its body before it.

/** A request as kubectl sent it. Values that a server made up are written as `${answer:path}`, the place where kubectl learned them. */
export interface Recorded {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string>;
  /** JSON or text as it is; bytes as `base64:…`. */
  body?: string;
}

export interface Exchange {
  request: Recorded;
  /** As the log has it; undefined for streams and bytes. */
  answer: unknown;
}

const SENT = new Set(["accept", "content-type", "impersonate-user", "impersonate-group"]);

/** All exchanges of one run, in the order of their requests. */
export function readLog(log: string): Exchange[] {
  const exchanges: Exchange[] = [];
  let body: string | undefined;
  for (const entry of log.split(/^(?=[IWEF]\d{4} )/m)) {
    if (entry.includes('] "Request Body"')) body = bodyOf(entry);
    else if (entry.includes('] "Request" curlCommand')) {
      exchanges.push({ request: { ...readCurl(entry), ...(body && { body }) }, answer: undefined });
      body = undefined;
    } else if (entry.includes('] "Response Body"')) noteAnswer(exchanges, bodyOf(entry));
  }
  return exchanges;
}

/** Answers come in the order of their requests but where kubectl asks several things at once, which only discovery does. */
function noteAnswer(exchanges: Exchange[], text: string): void {
  const last = exchanges.at(-1);
  if (!last || text.startsWith("base64:")) return;
  try {
    last.answer = JSON.parse(text);
  } catch {
    last.answer = undefined; // cut short by the log, or plain text
  }
}

function bodyOf(entry: string): string {
  const block = /body=<\n([\s\S]*)\n >/.exec(entry)?.[1];
  if (block === undefined) {
    const quoted = /body=("(?:[^"\\]|\\.)*")/.exec(entry)?.[1];
    return quoted ? (JSON.parse(quoted) as string) : "";
  }
  const lines = block.split("\n").map((line) => line.replace(/^\t/, ""));
  return lines.every((line) => /^[0-9a-f]{8} {2}/.test(line)) ? bytesOf(lines) : lines.join("\n");
}

/** Undoes a hex dump. */
function bytesOf(lines: string[]): string {
  const hex = lines.map((line) => line.slice(10, 60).replaceAll(/[^0-9a-f]/g, "")).join("");
  return `base64:${Buffer.from(hex, "hex").toString("base64")}`;
}

function readCurl(entry: string): Omit<Recorded, "body"> {
  const method = /curl -v -X(\w+)/.exec(entry)?.[1] ?? "";
  const url = new URL(/'(https:[^']*)'/.exec(entry)?.[1] ?? "");
  const headers: Record<string, string> = {};
  for (const [, name = "", value = ""] of entry.matchAll(/-H "([^:"]+): ([^"]*)"/g))
    if (SENT.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
  // The hash of a document is each server's own.
  url.searchParams.delete("hash");
  return { method, path: url.pathname + url.search, headers };
}

const LEARNED = new Set(["resourceVersion", "uid", "continue"]);

/** Writes what a later request repeats of an earlier answer as the place where it stands there. @param from the number of the first exchange */
export function withPlaceholders(exchanges: Exchange[]): Recorded[] {
  const placeholders = new Map<string, string>();
  return exchanges.map(({ request, answer }, index) => {
    const filledRequest = [...placeholders].reduce(
      (text, [value, placeholder]) => text.replaceAll(value, placeholder),
      JSON.stringify({ path: request.path, body: request.body ?? "" }),
    );
    collect(answer, "", (path, value) => {
      if (!placeholders.has(value)) placeholders.set(value, `\${${index}:${path}}`);
    });
    const { path, body } = JSON.parse(filledRequest) as { path: string; body: string };
    return { ...request, path, ...(request.body !== undefined && { body }) };
  });
}

/** Versions are short numbers: only those of four digits and more are told from others. */
function collect(value: unknown, path: string, found: (path: string, value: string) => void): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, entry] of Object.entries(value)) {
    const at = path ? `${path}.${key}` : key;
    if (LEARNED.has(key) && typeof entry === "string" && entry.length >= 3) found(at, entry);
    else collect(entry, at, found);
  }
}
