// An address with a password loses it.
import { expect, test } from "vitest";
import { hideUserinfo } from "./hide-userinfo.ts";

test.each([
  ["https://user:hunter2@example.com/a.git#v1", "https://***:***@example.com/a.git#v1"],
  ["https://hunter2@example.com", "https://***:***@example.com"],
  ["https://user:hun@ter2@example.com/x", "https://***:***@example.com/x"],
  [
    "cannot use HTTPS://a:hunter2@b, nor git+ssh://c:hunter2@d/e",
    "cannot use HTTPS://***:***@b, nor git+ssh://***:***@d/e",
  ],
  ["https://example.com/team@2/x", "https://example.com/team@2/x"],
  ["https://example.com/?mail=a@b", "https://example.com/?mail=a@b"],
  ["nodejs_buildpack", "nodejs_buildpack"],
  ["docker://some/image@sha256:0", "docker://some/image@sha256:0"],
])("%s", (text, shown) => {
  expect(hideUserinfo(text)).toBe(shown);
});

test("a long word costs time by its length, not by its square", () => {
  const word = "a".repeat(300_000);
  expect(hideUserinfo(word)).toBe(word);
});
