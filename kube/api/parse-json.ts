// JSON from elsewhere: an error that says nothing of the text. What JSON.parse says quotes it, and it may be of a Secret.

/** It is not JSON. */
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
