// Parses external JSON. JSON.parse quotes its input in errors, and that may be a Secret; NotJson does not.

/** The text is not JSON. */
export class NotJson extends Error {
  constructor() {
    super("this is not JSON");
    this.name = "NotJson";
  }
}

/** @throws NotJson */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new NotJson();
  }
}
