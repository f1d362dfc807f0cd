// `cup curl`: any call of the API with the user's credential.
import type { Json } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";

export async function curl(
  { api }: Context,
  path: string,
  options: { request?: string; data?: string },
): Promise<Result> {
  const method = options.request ?? (options.data === undefined ? "GET" : "POST");
  const body = await api.request(
    method,
    path.startsWith("/") ? path : `/${path}`,
    options.data === undefined ? {} : { body: toJson(options.data) },
  );
  return { json: body, text: [JSON.stringify(body, null, 2)] };
}

function toJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new Failure("--data is not JSON", { kind: "usage", cause });
  }
}
