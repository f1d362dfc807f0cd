// The catalogue: its generated document, and the fields of an error.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorCatalogue, CFError, errorsDocument, notFound } from "./errors.ts";

test("docs/errors.md is the catalogue", () => {
  expect(readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8")).toBe(errorsDocument());
});

test("a thrown error carries code, title, status and filled detail", () => {
  const error = notFound("App");
  expect(error.status).toBe(404);
  expect(error.errors).toEqual([{ code: 10010, title: "CF-ResourceNotFound", detail: "App not found" }]);
});

test("text is inserted literally, also with replacement patterns in it", () => {
  expect(new CFError("UnprocessableEntity", "a $& b").errors[0]?.detail).toBe("a $& b");
});

test("several texts are several errors", () => {
  expect(new CFError("UnprocessableEntity", ["one", "two"]).errors.map((e) => e.detail)).toEqual(["one", "two"]);
});

test("titles have CF's prefix, but for the unknown error", () => {
  for (const [key, entry] of Object.entries(errorCatalogue))
    expect(entry.title.startsWith("CF-")).toBe(key !== "UnknownError");
});
