// Names of images, prefixes and repositories: what is read, and what is refused.
import { expect, test } from "vitest";
import { formatImageName, parseImageName, parseRegistryPrefix, repositoryOf } from "./image-name.ts";

const digest = `sha256:${"a".repeat(64)}`;

test.each([
  ["busybox", "docker.io/library/busybox:latest"],
  ["cupola/app:1.0", "docker.io/cupola/app:1.0"],
  ["localhost/app", "localhost/app:latest"],
  ["Registry.Example:5000/team/app", "registry.example:5000/team/app:latest"],
  [`registry.example/app@${digest}`, `registry.example/app@${digest}`],
  [`registry.example/app:1@${digest}`, `registry.example/app:1@${digest}`],
  ["[::1]:5000/app", "[::1]:5000/app:latest"],
])("%s is the image %s", (text, name) => {
  expect(formatImageName(parseImageName(text))).toBe(name);
});

test.each(["", "UPPER", "a//b", "registry.example/", "app:", "app@sha256:12", "app:a/b", "../app", "a".repeat(300)])(
  "%j is refused as the name of an image",
  (text) => {
    expect(() => parseImageName(text)).toThrow("is no name of an image");
  },
);

test("a prefix is a host and a path", () => {
  expect(parseRegistryPrefix("Registry.Example:5000/team/cupola/")).toEqual({
    host: "registry.example:5000",
    path: "team/cupola",
  });
  expect(parseRegistryPrefix("localhost:5000")).toEqual({ host: "localhost:5000", path: "" });
});

test.each(["https://registry.example/cupola", "cupola", "registry.example/Team", "registry.example/a b", "", "/x"])(
  "%j is refused as a prefix",
  (text) => {
    expect(() => parseRegistryPrefix(text)).toThrow("give host[:port]/path without https://");
  },
);

test("a space has its own path, and no GUID leads out of it", () => {
  const prefix = parseRegistryPrefix("registry.example/cupola");
  expect(repositoryOf(prefix, "0190-aa", "package")).toBe("cupola/0190-aa/package");
  expect(repositoryOf({ ...prefix, path: "" }, "0190-aa", "cache")).toBe("0190-aa/cache");
  for (const space of ["..", "a/b", "", "A", "-a", "a-"])
    expect(() => repositoryOf(prefix, space, "droplet")).toThrow();
});
