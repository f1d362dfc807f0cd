// Tags of contents: what is read back from them, and which tags are none of ours.
import { expect, test } from "vitest";
import { contentTag, parseContentTag, parseWritingTag, writingTag } from "./content-image.ts";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

test.each([
  ["small", 0, 0],
  ["large and late", 2 ** 40, 4_102_444_800_000],
])("a writing is read back from its tag: %s", (_name, size, modified) => {
  const tag = writingTag({ digest, size, modified });
  expect(tag).toMatch(/^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/);
  expect(parseWritingTag(tag)).toEqual({ digest, size, modified });
});

test("a content is read back from its tag", () => {
  expect(contentTag(digest)).toMatch(/^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/);
  expect(parseContentTag(contentTag(digest))).toBe(digest);
});

test.each(["latest", "put-1-2-3", "put--1-", `put-1-${"0".repeat(64)}`, "content-", `content-${"G".repeat(64)}`])(
  "%s is the tag of no content",
  (tag) => {
    expect([parseWritingTag(tag), parseContentTag(tag)]).toEqual([undefined, undefined]);
  },
);
