// The Warning headers of an API server's answer.

const WARNING = /\b\d{3} \S+ "((?:[^"\\]|\\.)*)"/g;

/** The texts of all Warning headers (RFC 7234, section 5.5), without codes and agents. */
export function parseWarnings(header: string | readonly string[] | undefined): string[] {
  const lines = header === undefined ? [] : [header].flat();
  return lines.flatMap((line) => [...line.matchAll(WARNING)].map(([, text = ""]) => text.replace(/\\(.)/g, "$1")));
}
