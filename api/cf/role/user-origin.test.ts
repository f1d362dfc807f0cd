// The users of Kubernetes as CF names them, with and without an existing UAA.
import { expect, test } from "vitest";
import { isNamed, toCFUser, toOwnName, toUserName } from "./user-origin.ts";

test.each([
  ["ann", false, "ann", "kubernetes"],
  ["uaa:ann", false, "uaa:ann", "kubernetes"],
  ["uaa:ann", true, "ann", "uaa"],
  ["ann", true, "ann", "kubernetes"],
  ["system:serviceaccount:a:b", true, "system:serviceaccount:a:b", "serviceaccount"],
])("%s (UAA: %s) is %s of %s", (name, usesUAA, username, origin) => {
  expect(toCFUser(name, usesUAA)).toEqual({ username, origin });
  expect(toUserName(username, origin, usesUAA)).toBe(name);
  expect(isNamed(name, { usernames: [username], origins: [origin] }, usesUAA)).toBe(true);
});

test.each<[string, string | undefined, boolean, string | undefined]>([
  ["ann", undefined, true, "uaa:ann"],
  ["ann", undefined, false, "ann"],
  ["system:serviceaccount:a:b", undefined, true, "system:serviceaccount:a:b"],
  ["ann", "uaa", true, "uaa:ann"],
  ["uaa:ann", "uaa", true, "uaa:ann"],
  ["uaa:ann", "kubernetes", true, "uaa:ann"],
  ["ann", "uaa", false, "ann"],
  ["ann", "ldap", true, undefined],
  ["ann", "serviceaccount", false, undefined],
])("%s of origin %s (UAA: %s) is %s", (username, origin, usesUAA, expected) =>
  expect(toUserName(username, origin, usesUAA)).toBe(expected)); // prettier-ignore

test("a list finds users by the names and origins that cf asks for", () => {
  const found = (query: object, usesUAA: boolean) =>
    ["uaa:ann", "ann", "bob"].filter((name) => isNamed(name, query, usesUAA));
  expect(found({ usernames: ["ann"], origins: ["uaa"] }, true)).toEqual(["uaa:ann"]);
  expect(found({ usernames: ["uaa:ann"], origins: ["kubernetes"] }, true)).toEqual(["uaa:ann"]);
  expect(found({ usernames: ["ann"] }, true)).toEqual(["uaa:ann", "ann"]);
  expect(found({ origins: ["kubernetes"] }, true)).toEqual(["ann", "bob"]);
  expect(found({ usernames: ["bob"], origins: ["uaa"] }, false)).toEqual(["bob"]);
  expect(found({}, false)).toEqual(["uaa:ann", "ann", "bob"]);
});

test("a client that names itself by the id in its token is the caller", () => {
  expect(toOwnName("deployer", "uaa:deployer", true)).toBe("uaa:deployer");
  expect(toOwnName("other", "uaa:deployer", true)).toBe("other");
  expect(toOwnName("deployer", "uaa:deployer", false)).toBe("deployer");
});
