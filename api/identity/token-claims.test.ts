// The identity that a token's claims map to, and reserved identities that no token can claim.
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
  ["a name that the cluster also has", { user_name: "admin" }, uaa, { user: "uaa:admin", groups: [] }],
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
  ["a user that is not a string", { user_name: 7 }, uaa],
  ["a user of Kubernetes' own", { user_name: "system:admin" }, uaa],
  ["a user that becomes one of Kubernetes' own with the prefix", { user_name: "ystem:admin" }, { ...uaa, prefix: "s" }],
  ["a group of Kubernetes' own", { user_name: "ann", scope: ["ops", "system:masters"] }, uaa],
  [
    "a group that becomes one of Kubernetes' own with the prefix",
    { user_name: "ann", scope: ["ystem:masters"] },
    { ...uaa, prefix: "s" },
  ],
  ["the platform's group", { user_name: "ann", scope: ["cupola:platform"] }, uaa],
  ["a name with a trailing space", { user_name: "ann " }, uaa],
  ["a second header", { user_name: "ann\r\nimpersonate-group: system:masters" }, uaa],
  ["a name that is not ASCII", { user_name: "jürgen" }, uaa],
  ["a name that is too long", { user_name: "a".repeat(257) }, uaa],
  ["groups that are not a list", { user_name: "ann", scope: { ops: true } }, uaa],
  ["too many groups", { user_name: "ann", scope: Array.from({ length: 201 }, (_, i) => `g${i}`) }, uaa],
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
