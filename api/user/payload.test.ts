// Which user filters can be combined.
import { expect, test } from "vitest";
import { userListQuery } from "./payload.ts";

const both = "filter cannot be provided with both usernames and partial_usernames filter.";
const alone = "filter cannot be provided without usernames or partial_usernames filter.";

test.each<[Record<string, string>, [string, string] | undefined]>([
  [{}, undefined],
  [{ usernames: "a" }, undefined],
  [{ partial_usernames: "a" }, undefined],
  [{ usernames: "a", origins: "kubernetes" }, undefined],
  [{ partial_usernames: "a", origins: "kubernetes" }, undefined],
  [{ usernames: "a", partial_usernames: "b" }, ["usernames", both]],
  [{ origins: "kubernetes" }, ["origins", alone]],
])("%j", (query, problem) => {
  const issue = userListQuery.safeParse(query).error?.issues[0];
  expect(issue && [issue.path[0], issue.message]).toEqual(problem);
});
