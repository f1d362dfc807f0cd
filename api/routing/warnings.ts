// The warnings of one request, as its header X-Cf-Warnings: each once, and no more than clients and proxies take in a header.

/** Servers and proxies take at least 8 KiB for all headers of an answer. */
const MAX_BYTES = 6_000;

export interface Warnings {
  add(text: string): void;
  /** The value of X-Cf-Warnings; undefined without warnings. */
  header(): string | undefined;
}

export function createWarnings(): Warnings {
  const values = new Set<string>();
  let bytes = 0;
  return {
    add(text) {
      const value = encodeURIComponent(text.toWellFormed());
      if (values.has(value) || bytes + value.length >= MAX_BYTES) return;
      bytes += value.length + 1;
      values.add(value);
    },
    header: () => (values.size > 0 ? [...values].join(",") : undefined),
  };
}
