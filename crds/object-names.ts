// Makes object names from CF names: slugs, digests, and CF's rules of uniqueness. Pure.
import { hash } from "node:crypto";

const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** Longest `metadata.name` made from a CF name; generated names add a hash and fit 52. */
export const MAX_SLUG = 40;

/** Five characters that distinguish texts with equal slugs. No vowels, so that no word appears. */
export function digest5(text: string): string {
  const bytes = hash("sha256", text, "buffer");
  return Array.from(bytes.subarray(0, 5), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

/** The DNS-label form of a text: lower case, runs of anything else as one dash. May be empty. */
export function slug(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
}

/** Two names are equal in CF when their folded forms are: NFC, case-folded. */
export function foldName(name: string): string {
  return name.normalize("NFC").toLowerCase().normalize("NFC");
}

/**
 * The object name for a CF name: its slug, with five digest characters when the slug loses something, is too long or `isTaken`.
 * `fallback` is used for names without any ASCII letter or digit.
 */
export function objectNameFor(
  name: string,
  fallback: string,
  isTaken: (candidate: string) => boolean = () => false,
): string {
  const plain = slug(name);
  const lossless = plain === name && plain.length <= MAX_SLUG;
  if (lossless && !isTaken(plain)) return plain;
  const base = (plain || fallback).slice(0, MAX_SLUG - 6).replace(/-+$/, "");
  for (let attempt = 0; ; attempt++) {
    const candidate = `${base}-${digest5(attempt === 0 ? name : `${name}/${attempt}`)}`;
    if (!isTaken(candidate)) return candidate;
  }
}

/** The name that cf shows. */
export function displayNameOf(object: { metadata: { name: string }; spec: { name?: string } }): string {
  return object.spec.name ?? object.metadata.name;
}

/** Lists sort names by their folded form: aa, BB, cc. */
export function sortKeyOfName(object: { metadata: { name: string }; spec: { name?: string } }): string {
  return foldName(displayNameOf(object));
}

/** Name of a generated object: a readable part and a short hash of `unique`; at most 52 characters. */
export function generatedName(readable: string, unique: string): string {
  return `${slug(readable).slice(0, 40).replace(/-+$/, "") || "x"}-${hash10(unique)}`;
}

function hash10(text: string): string {
  return hash("sha256", text, "hex").slice(0, 10);
}
