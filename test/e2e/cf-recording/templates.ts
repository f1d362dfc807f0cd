// Recordings as templates: what differs from run to run has a name, and content of uploads has a key.
import type { Exchange } from "../support/recording-proxy.ts";
import { splitForm } from "../cf-traffic/form.ts";
import { exchangeNormaliser } from "../cf-traffic/normalise.ts";
import type { FormPart, RecordedExchange } from "../cf-traffic/traffic.ts";
import type { Who } from "../cf/support/who.ts";
import type { CaseRecording, GroupRecording, RawExchange } from "./raw-recording.ts";
import { digestOf, nameOfBytes, readContent, type UploadContent } from "./upload-content.ts";

export interface CaseExchange extends RecordedExchange {
  /** The sender; undefined without a token. */
  as?: Who;
  /** Sent by the command that the case is about, and not by what is before and after it. */
  isOfCommand: boolean;
}

export interface CaseTemplate extends Omit<CaseRecording, "exchanges"> {
  exchanges: readonly CaseExchange[];
}

/** Contents of cases' uploads, by key. */
export type Uploads = Record<string, UploadContent>;

/** Keeps only the last answer of a repeated question. Adds to `uploads`. */
export async function toTemplates({ url, folder, cases }: GroupRecording, uploads: Uploads): Promise<CaseTemplate[]> {
  const normalise = exchangeNormaliser({ url, folder });
  const templates: CaseTemplate[] = [];
  for (const { exchanges, ...one } of cases) {
    const normalised: CaseExchange[] = [];
    for (const raw of exchanges) {
      const exchange = toExchange(raw);
      const { request, answer } = normalise(exchange);
      const form = request.form && (await withContent(request.form, exchange, uploads));
      normalised.push({
        ...(raw.as && { as: raw.as }),
        request: { ...request, ...(form && { form }) },
        answer: isBytes(raw) ? { ...answer, body: nameOfBytes(exchange.body) } : answer,
        isOfCommand: raw.isOfCommand,
      });
    }
    templates.push({ ...one, exchanges: withoutPolls(normalised) });
  }
  return templates;
}

function toExchange({ contentType, requestBody, body, ...rest }: RawExchange): Exchange {
  return {
    ...rest,
    requestHeaders: { ...(contentType && { "content-type": contentType }) },
    requestBody: Buffer.from(requestBody, "base64"),
    body: Buffer.from(body, "base64"),
  };
}

function isBytes({ headers }: RawExchange): boolean {
  return /octet-stream|gzip|zip/.test(headers["content-type"] ?? "");
}

async function withContent(
  form: readonly FormPart[],
  { requestHeaders, requestBody }: Exchange,
  uploads: Uploads,
): Promise<FormPart[]> {
  const sent = splitForm(requestHeaders["content-type"] ?? "", requestBody);
  return await Promise.all(
    form.map(async ({ fitsBytes: _size, ...part }, at) => {
      const bytes = sent[at]?.content;
      if (part.filename === undefined || !bytes) return part;
      if (bytes[0] === 0x1f && bytes[1] === 0x8b) return { ...part, content: nameOfBytes(bytes) };
      const content = await readContent(bytes);
      const key = digestOf(JSON.stringify(content));
      uploads[key] = content;
      return { ...part, content: key };
    }),
  );
}

/** Between two writes each question once, the last time; and the first time where later requests use names that its answer gives. */
function withoutPolls(exchanges: readonly CaseExchange[]): CaseExchange[] {
  const known = new Set<string>();
  return exchanges.filter((one, at) => {
    const given = namesIn(one.answer).filter((name) => !known.has(name));
    for (const name of given) known.add(name);
    if (one.request.method !== "GET") return true;
    const later = exchanges.slice(at + 1);
    const nextWrite = later.findIndex(({ request }) => request.method !== "GET");
    const reads = later.slice(0, nextWrite < 0 ? undefined : nextWrite);
    return !reads.some((other) => isSame(one, other)) || later.some(({ request }) => isAnyIn(given, request));
  });
}

function isAnyIn(names: readonly string[], value: unknown): boolean {
  const found = new Set(namesIn(value));
  return names.some((name) => found.has(name));
}

function isSame(one: CaseExchange, other: CaseExchange): boolean {
  const isLike = one.as === other.as && one.isOfCommand === other.isOfCommand;
  return isLike && one.request.method === other.request.method && one.request.path === other.request.path;
}

const NAME = /<((?:guid|job|bytes)-[0-9a-f]+)>/g;

/** The names in a template, without their brackets. */
export function namesIn(value: unknown): string[] {
  return [...(JSON.stringify(value) ?? "").matchAll(NAME)].flatMap(([, name]) => name ?? []);
}
