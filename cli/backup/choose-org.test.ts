// The org that `cup export --org` means: the one that holds the name, not one that asks for it.
import { expect, test } from "vitest";
import { chooseOrg, type OrgPlace } from "./choose-org.ts";

const org = (name: string, asked: string, held?: string): OrgPlace => ({ name, namespace: name, asked, held });

test("the org that holds the name is chosen before those that ask for it", () => {
  expect(chooseOrg([org("first", "acme"), org("second", "acme", "acme")], "acme").name).toBe("second");
});

test("an org that no controller has seen yet is chosen by the name that it asks for", () => {
  expect(chooseOrg([org("other", "beta", "beta"), org("young", "acme")], "acme").name).toBe("young");
});

test("an org that holds another name is not chosen by the name that it asks for", () => {
  expect(() => chooseOrg([org("one", "acme", "old")], "acme")).toThrow("there is no org acme");
});

test("two orgs of equal right are refused", () => {
  expect(() => chooseOrg([org("one", "acme"), org("two", "acme")], "acme")).toThrow("2 orgs ask for the name acme");
});
