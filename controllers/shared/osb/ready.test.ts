// Sentences of a broker's operation: the broker's own may end without a full stop.
import { expect, test } from "vitest";
import { failedReady } from "./ready.ts";

test.each([
  ["the broker gives no reason", "the broker gives no reason. Delete it, and create it again."],
  ["No room.", "No room. Delete it, and create it again."],
])("%s: the next step is a sentence of its own", (description, message) => {
  const times = { createdAt: "2026-01-01T00:00:00Z", updatedAt: "2026-01-01T00:00:00Z" };
  expect(failedReady({ type: "create", state: "failed", description, ...times })).toMatchObject({ message });
});
