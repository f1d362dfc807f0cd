// Errors about invalid JSON do not quote the text.
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { NotJson, parseJson } from "./parse-json.ts";
import { watchLines } from "../client/watch-lines.ts";

const texts = ["hunter2", '{"data":{"password":"hunter2"', '{"a":hunter2}', "<html>hunter2"];

test.each(texts)("%s", (text) => {
  try {
    parseJson(text);
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(NotJson);
    expect(inspect(error)).not.toContain("hunter2");
  }
});

test("a watch does not quote an invalid line", async () => {
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from('{"type":"ADDED"}\n');
    yield Buffer.from("hunter2\n");
  }
  const lines = watchLines(body());
  expect((await lines.next()).value).toEqual({ type: "ADDED" });
  const error: unknown = await lines.next().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NotJson);
  expect(inspect(error)).not.toContain("hunter2");
});
