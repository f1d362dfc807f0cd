// Uploads: the parts of a recorded form, and such a form again with content in it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { FormData } from "undici";
import { ZipFile } from "yazl";
import type { FormPart } from "./traffic.ts";

export interface SentPart {
  name: string;
  filename?: string;
  content: Buffer;
}

/** The parts of a form as they were sent. */
export function splitForm(contentType: string, body: Buffer): SentPart[] {
  const boundary = /boundary=("?)([^";]+)\1/.exec(contentType)?.[2] ?? "";
  return body
    .toString("latin1")
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const end = part.indexOf("\r\n\r\n");
      const [head, content] = [part.slice(0, end), Buffer.from(part.slice(end + 4, -2), "latin1")];
      const name = /[; ]name="([^"]*)"/.exec(head)?.[1] ?? "";
      const filename = /filename="([^"]*)"/.exec(head)?.[1];
      return { name, content, ...(filename !== undefined && { filename }) };
    });
}

/** Names and sizes; the content of files is not kept. */
export function readForm(contentType: string, body: Buffer): FormPart[] {
  return splitForm(contentType, body).map(({ name, filename, content }) =>
    filename === undefined
      ? { name, text: content.toString("latin1") }
      : { name, filename, fitsBytes: 2 ** Math.ceil(Math.log2(Math.max(content.length, 1))) },
  );
}

/** The form again, with what `contentOf` gives for each file. */
export async function makeForm(
  parts: readonly FormPart[],
  contentOf: (part: FormPart) => Promise<Uint8Array<ArrayBuffer>>,
): Promise<FormData> {
  const form = new FormData();
  for (const part of parts) {
    const { name, filename, text } = part;
    if (filename === undefined) form.set(name, text ?? "");
    else form.set(name, new Blob([await contentOf(part)], { type: "application/zip" }), filename);
  }
  return form;
}

/** A zip of a folder's files. */
export async function zipOf(folder: string): Promise<Uint8Array<ArrayBuffer>> {
  const zip = new ZipFile();
  for (const name of readdirSync(folder)) zip.addBuffer(readFileSync(join(folder, name)), name);
  zip.end();
  return new Uint8Array(await buffer(zip.outputStream));
}
