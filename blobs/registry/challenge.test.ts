// Challenges as registries send them.
import { expect, test } from "vitest";
import { parseChallenge } from "./challenge.ts";

const bearer = (realm: string, service?: string, scope?: string) => ({ scheme: "bearer", realm, service, scope });

test.each([
  ['Basic realm="registry"', { scheme: "basic" }],
  ["basic", { scheme: "basic" }],
  ['Bearer realm="https://t.example/token",service="r"', bearer("https://t.example/token", "r")],
  [
    'bearer Realm = "https://t.example" , scope="repository:a:pull,push"',
    bearer("https://t.example", undefined, "repository:a:pull,push"),
  ],
  [
    'Basic realm="a, Bearer realm=\\"x\\"", Bearer realm="https://t.example",service=plain',
    bearer("https://t.example", "plain"),
  ],
  ['Negotiate, Basic realm="x"', { scheme: "basic" }],
  ["Negotiate abc==", undefined],
  ["Bearer", undefined],
  ["", undefined],
  [",,;=", undefined],
])("%s", (header, challenge) => {
  expect(parseChallenge(header)).toEqual(challenge);
});
