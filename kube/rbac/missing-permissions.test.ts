// Refused requests become missing permissions once the API server confirms them, and end when it allows them again.
import pino from "pino";
import { afterEach, expect, test, vi } from "vitest";
import type { KubeClient } from "../client/client.ts";
import { formatPermission, requestedPermission, watchMissingPermissions } from "./missing-permissions.ts";

const stop = new AbortController();
afterEach(() => void vi.useRealTimers());

test.each([
  ["PATCH", "/apis/example.com/v1/namespaces/a/gadgets/x/status?fieldManager=m", "patch gadgets/status.example.com"],
  ["POST", "/api/v1/namespaces/a/pods", "create pods"],
  ["DELETE", "/api/v1/namespaces/a", "delete namespaces"],
  ["PUT", "/api/v1/namespaces/a/finalize", "update namespaces/finalize"],
  ["PUT", "/apis/apps/v1/namespaces/a/deployments/x/scale", "update deployments/scale.apps"],
  ["POST", "/apis/example.com/v1/gadgets", "create gadgets.example.com"],
])("%s %s asks for: %s", (method, path, text) => {
  expect(formatPermission(requestedPermission({ method, path }) ?? expect.unreachable())).toBe(text);
});

test.each([
  ["GET", "/api/v1/pods"],
  ["POST", "/livez"],
])("%s %s is no write of a resource", (method, path) => {
  expect(requestedPermission({ method, path })).toBeUndefined();
});

function watched() {
  const granted = { allowed: false };
  const review = vi.fn(() => Promise.resolve({ status: { ...granted } }));
  const client = { review } as unknown as KubeClient;
  const log = pino({ level: "silent" });
  vi.useFakeTimers();
  const missing = watchMissingPermissions({ client: () => client, log, signal: stop.signal, intervalMs: 10 });
  const refuse = (more: object = {}): void =>
    missing.observe({
      method: "PATCH",
      path: "/apis/g/v1/namespaces/a/lrps/x",
      code: 403,
      milliseconds: 1,
      attempt: 1,
      ...more,
    });
  return { missing, refuse, review, granted };
}

test("a refusal that RBAC confirms is listed until the permission is granted", async () => {
  const { missing, refuse, review, granted } = watched();
  refuse();
  expect(missing.list()).toEqual([]);
  await vi.advanceTimersByTimeAsync(11);
  expect(missing.list()).toEqual(["patch lrps.g"]);
  granted.allowed = true;
  await vi.advanceTimersByTimeAsync(11);
  expect(missing.list()).toEqual([]);
  const asked = review.mock.calls.length;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(review.mock.calls.length).toBe(asked);
});

test("a refusal of admission, which RBAC allows, is never listed", async () => {
  const { missing, refuse, granted } = watched();
  granted.allowed = true;
  refuse();
  await vi.advanceTimersByTimeAsync(11);
  expect(missing.list()).toEqual([]);
});

test("refusals of other identities and other failures are not looked at", async () => {
  const { refuse, review } = watched();
  refuse({ isDelegated: true });
  refuse({ code: 409 });
  await vi.advanceTimersByTimeAsync(100);
  expect(review).not.toHaveBeenCalled();
});
