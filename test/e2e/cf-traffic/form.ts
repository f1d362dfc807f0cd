// Uploads: the parts of a recorded form, and such a form again with an app's source in it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { FormData } from "undici";
import { ZipFile } from "yazl";
import type { FormPart } from "./traffic.ts";

/** Names and sizes; the content of files is not kept. */
export function readForm(contentType: string, body: Buffer): FormPart[] {
  const boundary = /boundary=("?)([^";]+)\1/.exec(contentType)?.[2] ?? "";
  return body
    .toString("latin1")
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const [head = "", content = ""] = [
        part.slice(0, part.indexOf("\r\n\r\n")),
        part.slice(part.indexOf("\r\n\r\n") + 4, -2),
      ];
      const name = /[; ]name="([^"]*)"/.exec(head)?.[1] ?? "";
      const filename = /filename="([^"]*)"/.exec(head)?.[1];
      return filename === undefined
        ? { name, text: content }
        : { name, filename, fitsBytes: 2 ** Math.ceil(Math.log2(Math.max(content.length, 1))) };
    });
}

/** The form with a zip of `folder` for each file. */
export async function makeForm(parts: readonly FormPart[], folder: string): Promise<FormData> {
  const form = new FormData();
  for (const { name, filename, text } of parts) {
    if (filename === undefined) form.set(name, text ?? "");
    else form.set(name, new Blob([await zipOf(folder)], { type: "application/zip" }), filename);
  }
  return form;
}

async function zipOf(folder: string): Promise<Uint8Array<ArrayBuffer>> {
  const zip = new ZipFile();
  for (const name of readdirSync(folder)) zip.addBuffer(readFileSync(join(folder, name)), name);
  zip.end();
  return new Uint8Array(await buffer(zip.outputStream));
}
