// Members are alive by observed renewals only.
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { ObservedMembers } from "./observed-members.ts";

const log = pino({ level: "silent" });
let version = 1;

function lease(name: string, renewal: number, uid = `uid-${name}`) {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, uid, resourceVersion: String(++version) },
    spec: { holderIdentity: name, renewTime: `r${renewal}`, acquireTime: "t" },
  };
}

const names = (observed: ObservedMembers, now: number) => observed.listLive(now).map(({ identity }) => identity);

describe("observed members", () => {
  test("counts a member while its renewals are observed, whatever its clock", () => {
    const observed = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    observed.observe(lease("a", 1), 0);
    observed.observe(lease("b", 1), 0);
    observed.observe(lease("a", 2), 10);
    observed.observe(lease("a", 3), 14);
    expect(names(observed, 15)).toEqual(["a", "b"]);
    expect(names(observed, 16)).toEqual(["a"]);
    expect(observed.checkExpired(16)).toMatchObject({ expired: [{ metadata: { name: "b" } }], isFirst: true });
    observed.observe(lease("b", 2), 17);
    expect(names(observed, 18)).toEqual(["a", "b"]);
  });

  test("a write without a renewal does not extend a lease", () => {
    const observed = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    observed.observe(lease("b", 1), 0);
    observed.observe(lease("a", 1), 12);
    observed.observe(lease("b", 1), 12);
    expect(names(observed, 16)).toEqual(["a"]);
  });

  test("an older version that arrives late is no renewal", () => {
    const observed = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    const [late, seen] = [lease("b", 1), lease("b", 2)];
    observed.observe(seen, 0);
    observed.observe(lease("a", 1), 10);
    observed.observe(late, 10);
    expect(names(observed, 16)).toEqual(["a"]);
  });

  test("a process that does not observe its own renewals expires no member", () => {
    const observed = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    observed.observe(lease("a", 1), 0);
    observed.observe(lease("b", 1), 0);
    expect(names(observed, 100)).toEqual(["a", "b"]);
    expect(observed.checkExpired(100).expired).toEqual([]);
    // The watch resumes: b gets its full time again only by a new renewal.
    observed.observeAll([lease("a", 9), lease("b", 9)], 101);
    expect(names(observed, 116)).toEqual(["a", "b"]);
  });

  test("only the first live member deletes expired Leases", () => {
    const observed = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "b", log });
    observed.observe(lease("a", 1), 0);
    observed.observe(lease("c", 1), 0);
    observed.observe(lease("b", 1), 10);
    observed.observe(lease("a", 2), 10);
    expect(observed.checkExpired(16)).toMatchObject({ expired: [{ metadata: { name: "c" } }], isFirst: false });
    observed.observe(lease("b", 2), 20);
    expect(observed.checkExpired(26)).toMatchObject({
      expired: [{ metadata: { name: "a" } }, { metadata: { name: "c" } }],
      isFirst: true,
    });
  });

  test("notifies once for each join, leave, annotation change and restart", () => {
    const observed = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    let calls = 0;
    observed.onChange(() => calls++);
    observed.observe(lease("a", 1), 0);
    observed.observe(lease("a", 2), 1);
    expect(calls).toBe(1);
    const b = lease("b", 1);
    observed.observe(b, 1);
    expect(calls).toBe(2);
    observed.remove(lease("b", 1, "another life"), 2);
    expect(calls).toBe(2);
    observed.remove(b, 3);
    expect(calls).toBe(3);
    observed.observe(lease("a", 3, "uid-2"), 4);
    expect(calls).toBe(4);
  });
});
