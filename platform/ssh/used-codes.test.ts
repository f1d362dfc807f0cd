// Codes open the SSH proxy once.
import { expect, test } from "vitest";
import { createUsedCodes } from "./used-codes.ts";

test("a code counts once, also at its end, and never when it is older than the proxy", () => {
  let seconds = 1000;
  const codes = createUsedCodes(() => new Date(seconds * 1000));
  const code = { id: "a", madeAt: 1000, expiresAt: 1060 };
  expect([codes.use(code), codes.use(code), codes.use({ ...code, id: "b" })]).toEqual([true, false, true]);
  seconds = 1059;
  expect(codes.use(code)).toBe(false);
  expect(codes.use({ id: "c", madeAt: 999, expiresAt: 1059 })).toBe(false);
});
