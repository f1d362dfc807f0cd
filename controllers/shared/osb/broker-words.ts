// Presents a broker's answer to people, in Cloud Foundry's words. Pure.
import { STATUS_CODES } from "node:http";

/** Characters of what a broker says. */
const MAX_CHARACTERS = 8192;
const CUT = "...This message has been truncated due to size. To read the full message, check the broker's logs";

/** An answer as far as it can be told. */
export interface ToldAnswer {
  status: number;
  body: Record<string, unknown> | undefined;
  /** The body as it came. */
  text?: string | undefined;
}

/** The message for an answer that fails or refuses: the broker's description, else the whole answer. */
export function toBrokerError({ status, body, text = "" }: ToldAnswer): string {
  const description = body?.["description"];
  if (typeof description === "string" && description.trim() !== "")
    return cutWords(`Service broker error: ${description}`);
  if (status === 409) return "Resource conflict";
  return cutWords(
    `${causeOf(status)} Status Code: ${`${status} ${STATUS_CODES[status] ?? ""}`.trimEnd()}, Body: ${text}`,
  );
}

function causeOf(status: number): string {
  return status >= 400 && status < 500
    ? "The service broker rejected the request."
    : "The service broker returned an invalid response.";
}

/** The message for a success that says too little. It leaves out the answer, which may have credentials. */
export function toMalformed(what: string): string {
  return `The service broker returned an invalid response: ${what}`;
}

/** As much of a broker's words as is kept. */
export function cutWords(words: string): string {
  return words.length > MAX_CHARACTERS ? `${words.slice(0, MAX_CHARACTERS).toWellFormed()}${CUT}` : words;
}
