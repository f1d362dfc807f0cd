// The refusal of a service instance's name that the space has already.
import { unprocessable, type CFError } from "../http/errors.ts";

export function taken(name: string): () => CFError {
  return () => unprocessable(`The service instance name is taken: ${name}.`);
}
