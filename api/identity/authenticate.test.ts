// How long a review of a credential is cached: a minute by either clock, even when the wall clock is set back.
import { afterEach, expect, test, vi } from "vitest";
import type { KubeClient } from "../../kube/client/client.ts";
import { createAuthenticator, createReviewer } from "./authenticate.ts";

afterEach(() => void vi.restoreAllMocks());

/** A token that Kubernetes accepts until the test revokes it, and both clocks of this machine. */
function known(token: string) {
  const state = { knows: true, wall: 1e12, steady: 1000 };
  vi.spyOn(performance, "now").mockImplementation(() => state.steady);
  const client = {
    review: () => Promise.resolve({ status: { authenticated: state.knows, user: { username: "ann" } } }),
  } as unknown as KubeClient;
  const authenticate = createAuthenticator({
    review: createReviewer({ client, now: () => new Date(state.wall) }),
    loginTokens: { open: () => expect.unreachable("these are no login tokens") },
    decide: () => Promise.resolve(false),
  });
  const name = (): Promise<string> =>
    authenticate({ authorization: `bearer ${token}` }, AbortSignal.timeout(1000)).then(
      (caller) => caller.name,
      (error: unknown) => String((error as Error).message),
    );
  return { state, name };
}

const expiring = `e30.${Buffer.from(JSON.stringify({ exp: 1e9 + 30 })).toString("base64url")}.sig`;

test.each([
  ["a minute later", "opaque", { wall: 60_001, steady: 60_001 }, false],
  ["less than a minute later", "opaque", { wall: 59_000, steady: 59_000 }, true],
  ["a minute later, when the clock was set back", "opaque", { wall: -3_600_000, steady: 60_001 }, false],
  ["at once, when the clock was set back", "opaque", { wall: -3_600_000, steady: 1 }, true],
  ["after the machine has slept, which a steady clock does not see", "opaque", { wall: 3_600_000, steady: 1 }, false],
  ["before the token's expiry", expiring, { wall: 29_000, steady: 29_000 }, true],
  ["after the token's expiry, also when the clock was set forward", expiring, { wall: 30_001, steady: 1 }, false],
])("a token that was revoked, %s", async (_when, token, { wall, steady }, believed) => {
  const { state, name } = known(token);
  expect(await name()).toBe("ann");
  state.knows = false;
  state.wall += wall;
  state.steady += steady;
  expect((await name()) === "ann").toBe(believed);
});
