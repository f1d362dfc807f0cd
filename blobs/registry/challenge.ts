// Parses the WWW-Authenticate header of a registry. Pure.

export type Challenge =
  { scheme: "basic" } | { scheme: "bearer"; realm: string; service: string | undefined; scope: string | undefined };

const TOKEN = /[A-Za-z0-9!#$%&'*+.^_`|~-]+/y;
const PARAMETER = /\s*,?\s*([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/y;

/** The challenge that a client can answer: Bearer before Basic. Undefined when there is none. */
export function parseChallenge(header: string): Challenge | undefined {
  const challenges = readAll(header);
  const bearer = challenges.find(({ scheme, parameters }) => scheme === "bearer" && parameters.has("realm"));
  if (bearer)
    return {
      scheme: "bearer",
      realm: bearer.parameters.get("realm") ?? "",
      service: bearer.parameters.get("service"),
      scope: bearer.parameters.get("scope"),
    };
  return challenges.some(({ scheme }) => scheme === "basic") ? { scheme: "basic" } : undefined;
}

function readAll(header: string): { scheme: string; parameters: Map<string, string> }[] {
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = 0;
  while (at < header.length) {
    TOKEN.lastIndex = at;
    const scheme = TOKEN.exec(header);
    if (!scheme) {
      at++; // a separator
      continue;
    }
    at = TOKEN.lastIndex;
    const parameters = new Map<string, string>();
    for (;;) {
      PARAMETER.lastIndex = at;
      const parameter = PARAMETER.exec(header);
      if (!parameter) break;
      at = PARAMETER.lastIndex;
      parameters.set((parameter[1] ?? "").toLowerCase(), parameter[2]?.replace(/\\(.)/g, "$1") ?? parameter[3] ?? "");
    }
    found.push({ scheme: scheme[0].toLowerCase(), parameters });
  }
  return found;
}
