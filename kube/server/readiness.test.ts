// Ready once every object that existed at the start is ingested: in any order, with deletions and failing objects.
import { describe, expect, test } from "vitest";
import { createReadiness } from "./readiness.ts";

describe("readiness", () => {
  test("waits for every check, reports failed ones, and stays ready", () => {
    const readiness = createReadiness();
    let gadgets: true | string = "gadgets listing";
    readiness.addCheck("api", () => gadgets);
    expect(readiness.check()).toEqual({
      ready: false,
      pending: [{ name: "api", reason: "gadgets listing" }],
      degraded: [],
    });
    gadgets = true;
    expect(readiness.check()).toEqual({ ready: true, pending: [], degraded: [] });
    gadgets = "gadgets backoff";
    expect(readiness.check()).toEqual({
      ready: true,
      pending: [],
      degraded: [{ name: "api", reason: "gadgets backoff" }],
    });
  });

  test("a degraded check does not delay readiness", () => {
    const readiness = createReadiness();
    readiness.addCheck("controllers", () => ({ degraded: "ingresses Forbidden" }));
    expect(readiness.check()).toEqual({
      ready: true,
      pending: [],
      degraded: [{ name: "controllers", reason: "ingresses Forbidden" }],
    });
  });

  test("a closing process is not ready", () => {
    const readiness = createReadiness();
    expect(readiness.check().ready).toBe(true);
    readiness.close("shutting down");
    expect(readiness.check()).toEqual({
      ready: false,
      pending: [{ name: "process", reason: "shutting down" }],
      degraded: [],
    });
  });

  test("objects may be observed before they are expected, and deleted before or after", () => {
    const readiness = createReadiness();
    const quotas = readiness.track("quotas");
    expect(readiness.check().pending).toEqual([{ name: "quotas", reason: "the first list is not complete" }]);
    quotas.observe("early");
    quotas.cancel("gone-early");
    for (const key of ["early", "gone-early", "late", "gone-late"]) quotas.expect(key);
    quotas.expectationsDone();
    expect(readiness.check().pending[0]?.reason).toBe("2 not ingested: late, gone-late");
    quotas.cancel("gone-late");
    expect(readiness.check().ready).toBe(false);
    quotas.observe("late");
    expect(readiness.check().ready).toBe(true);
  });

  test("frees its memory when ready, and stays ready and empty", () => {
    const readiness = createReadiness();
    const quotas = readiness.track("quotas");
    for (let i = 0; i < 1000; i++) quotas.expect(`q${i}`);
    for (let i = 0; i < 1000; i++) quotas.observe(`q${i}`);
    quotas.expectationsDone();
    expect(readiness.size).toBe(1000);
    expect(readiness.check().ready).toBe(true);
    expect(readiness.size).toBe(0);
    quotas.expect("later");
    quotas.fail("later", "broken");
    expect([readiness.check().ready, readiness.size]).toEqual([true, 0]);
  });

  test("a failing object keeps the process unready and is named with its reason", () => {
    const readiness = createReadiness();
    const quotas = readiness.track("quotas");
    quotas.expect("poison");
    quotas.expectationsDone();
    for (let i = 0; i < 50; i++) quotas.fail("poison", "bad rule");
    expect(readiness.check()).toMatchObject({
      ready: false,
      pending: [{ reason: "1 not ingested: poison (bad rule)" }],
    });
    // Repaired.
    quotas.observe("poison");
    expect(readiness.check().ready).toBe(true);
  });

  test("with a retry limit a failing object counts as degraded", () => {
    const readiness = createReadiness();
    const flags = readiness.track("flags", { retries: 2 });
    flags.expect("poison");
    flags.expectationsDone();
    flags.fail("poison", "bad");
    flags.fail("poison", "bad");
    expect(readiness.check().ready).toBe(false);
    flags.fail("poison", "worse");
    expect(readiness.check()).toEqual({
      ready: true,
      pending: [],
      degraded: [{ name: "flags", reason: "poison: worse" }],
    });
  });

  test("prune drops objects deleted without an event", () => {
    const readiness = createReadiness();
    const quotas = readiness.track("quotas");
    quotas.expect("there");
    quotas.expect("deleted");
    quotas.expectationsDone();
    quotas.prune((key) => key === "there");
    quotas.observe("there");
    expect(readiness.check().ready).toBe(true);
  });

  test("names only the first few of many", () => {
    const readiness = createReadiness();
    const quotas = readiness.track("quotas");
    for (const key of ["a", "b", "c", "d", "e"]) quotas.expect(key);
    quotas.expectationsDone();
    expect(readiness.check().pending[0]?.reason).toBe("5 not ingested: a, b, c, …");
  });
});
