// Reads of the app's files that all buildpacks share.
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Problem } from "./log.mjs";

/** The text of a file without a byte order mark; "" when it does not exist. */
export function readIfThere(path) {
  try {
    return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "EISDIR") return "";
    throw error;
  }
}

/** The names among `names` that exist in the app. */
export function present(app, names) {
  return names.filter((name) => existsSync(join(app, name)));
}

/** A digest of texts and of files of the app: equal digests mean equal inputs. */
export function digestOf(app, { texts = [], files = [] }) {
  const contents = files.map((name) => [name, readIfThere(join(app, name))]);
  return createHash("sha256")
    .update(JSON.stringify([process.platform, process.arch, texts, contents]))
    .digest("hex");
}

/** The first version in a file such as .python-version: comments and a leading v are skipped; "" when there is none. */
export function readVersionFile(path) {
  const line = readIfThere(path)
    .split(/\r?\n/)
    .map((row) => row.replace(/#.*/, "").trim())
    .find(Boolean);
  return (line ?? "").replace(/^v(?=\d)/, "");
}

/** A parsed JSON object. Throws with the place of a mistake. */
export function readJson(app, name) {
  const text = readIfThere(join(app, name));
  if (text === "") return {};
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Problem(`${name} is not valid JSON: ${error.message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Problem(`${name} is not a JSON object`);
  return value;
}

/** A word for a shell. */
export function quote(word) {
  return /^[A-Za-z0-9_./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
