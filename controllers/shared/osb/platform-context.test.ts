// Annotations that brokers are told of.
import { expect, test } from "vitest";
import { toBrokerAnnotations } from "./platform-context.ts";

test.each([
  ["with a prefix", { "provider.example/contact": "me" }, { "provider.example/contact": "me" }],
  ["without a prefix", { contact: "me" }, {}],
  ["of the platform and of Kubernetes", { "cupola.dev/asked-by": "me", "kubectl.kubernetes.io/last": "{}" }, {}],
  ["too many", { "provider.example/contact": "x".repeat(20_000) }, {}],
])("%s", (_what, annotations, told) => {
  expect(toBrokerAnnotations({ annotations })).toEqual(told);
});

test("an object that is gone has none", () => expect(toBrokerAnnotations(undefined)).toEqual({}));
