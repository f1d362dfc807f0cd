// Who the claims of a token name, and whom nobody can become by them.
import { expect, test } from "vitest";
import { toClaimedIdentity, findPrefixProblem, type ClaimMapping } from "./token-claims.ts";

const uaa: ClaimMapping = { userClaim: "user_name", groupsClaim: "scope", prefix: "uaa:" };

test.each([
  ["a user without groups", { user_name: "ann" }, uaa, { user: "uaa:ann", groups: [] }],
  [
    "groups, each once",
    { user_name: "ann", scope: ["ops", "dev", "ops"] },
    uaa,
    { user: "uaa:ann", groups: ["uaa:ops", "uaa:dev"] },
  ],
  ["one group as a string", { user_name: "ann", scope: "ops" }, uaa, { user: "uaa:ann", groups: ["uaa:ops"] }],
  [
    "no groups where no claim is named",
    { sub: "1", scope: ["ops"] },
    { userClaim: "sub", prefix: "x#" },
    { user: "x#1", groups: [] },
  ],
  ["a name that is one of the cluster's", { user_name: "admin" }, uaa, { user: "uaa:admin", groups: [] }],
  [
    "an access token's id",
    { user_name: "ann", jti: "0123456789abcdef0123456789abcdef" },
    uaa,
    { user: "uaa:ann", groups: [] },
  ],
  [
    "a verified email",
    { email: "a@b.example", email_verified: true },
    { ...uaa, userClaim: "email" },
    { user: "uaa:a@b.example", groups: [] },
  ],
])("%s", (_what, claims, mapping, identity) => {
  expect(toClaimedIdentity(claims, mapping)).toEqual(identity);
});

test.each([
  ["no user", { sub: "1" }, uaa],
  ["an empty user", { user_name: "" }, uaa],
  ["a user that is no string", { user_name: 7 }, uaa],
  ["a user of Kubernetes' own", { user_name: "system:admin" }, uaa],
  ["a user that the prefix would make one", { user_name: "ystem:admin" }, { ...uaa, prefix: "s" }],
  ["a group of Kubernetes' own", { user_name: "ann", scope: ["ops", "system:masters"] }, uaa],
  ["a group that the prefix would make one", { user_name: "ann", scope: ["ystem:masters"] }, { ...uaa, prefix: "s" }],
  ["the platform's group", { user_name: "ann", scope: ["cupola:platform"] }, uaa],
  ["a name that ends otherwise in a header", { user_name: "ann " }, uaa],
  ["a second header", { user_name: "ann\r\nimpersonate-group: system:masters" }, uaa],
  ["what no header carries", { user_name: "jürgen" }, uaa],
  ["a name without end", { user_name: "a".repeat(257) }, uaa],
  ["groups that are none", { user_name: "ann", scope: { ops: true } }, uaa],
  ["groups without end", { user_name: "ann", scope: Array.from({ length: 201 }, (_, i) => `g${i}`) }, uaa],
  ["a refresh token of UAA", { user_name: "ann", jti: "0123456789abcdef0123456789abcdef-r" }, uaa],
  ["an unverified email", { email: "a@b.example", email_verified: false }, { ...uaa, userClaim: "email" }],
])("%s is refused", (_what, claims, mapping) => {
  expect(toClaimedIdentity(claims, mapping)).toEqual({ refused: expect.any(String) });
});

test.each([
  ["uaa:", true],
  ["https://uaa.example/oauth/token#", true],
  ["", false],
  ["uaa", false],
  ["s", false],
  ["system:", false],
  ["system:x:", false],
  ["cupola:", false],
  ["a b:", false],
  ["ä:", false],
])("prefix %j: %s", (prefix, good) => {
  expect(findPrefixProblem(prefix) === undefined).toBe(good);
});
