// Credentials in free text, and what is none.
import { expect, test } from "vitest";
import { scrubText } from "./scrub-text.ts";

const SECRET = "aB3dE5fG7hI9jK1lM3nO5pQ7";

test.each([
  [`GET https://me:${SECRET}@broker.example.org/v2/catalog?token=${SECRET} answered 401`],
  [`Authorization: Bearer ${SECRET}`],
  [`the header was "authorization":"Basic ${SECRET}="`],
  [`password=${SECRET}`],
  [`{"password":"short","api_key": "${SECRET}"}`],
  [`{\\"clientSecret\\":\\"${SECRET}\\"}`],
  [`token eyJhbGciOiJIUzI1NiJ9.${SECRET}.${SECRET}`],
  [`-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----`],
  [`the value ${SECRET} was refused`],
  [`key ${"0123456789abcdef".repeat(4)}`],
])("%s", (text) => {
  const scrubbed = scrubText(text);
  expect(scrubbed).not.toContain(SECRET);
  expect(scrubbed).not.toContain("short");
  expect(scrubbed).not.toContain("0123456789abcdef");
  expect(scrubbed).toContain("***");
});

test.each([
  "cupola-controllers-7d9c5b8f6d-abcde is not ready: ImagePullBackOff",
  "the image registry.example.org/cupola@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0 is away",
  "App 01a3b0e4-5c41-4f6e-9a8b-0c1d2e3f4a5b was not found",
  "    at async Reconciler.run (file:///app/dist/kube/controller/reconciler.js:104:12)",
  "routes.cupola.dev is forbidden: User system:serviceaccount:cupola-system:cupola-controllers cannot list",
  "ValidatingAdmissionPolicyBinding lifetimes.cupola.dev was changed",
])("%s stays", (text) => expect(scrubText(text)).toBe(text));

test("takes linear time", () => {
  const started = performance.now();
  for (const text of [
    "a".repeat(200_000),
    "password=".repeat(20_000),
    "://".repeat(60_000),
    "-----BEGIN A-----".repeat(5_000),
  ])
    scrubText(text);
  expect(performance.now() - started).toBeLessThan(5_000);
});
