// Who counts as alive, by renewals seen and nothing else.
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

const names = (roll: ObservedMembers, now: number) => roll.listLive(now).map(({ identity }) => identity);

describe("a membership's roll", () => {
  test("counts a member as long as renewals are seen, whatever its clock says", () => {
    const roll = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    roll.observe(lease("a", 1), 0);
    roll.observe(lease("b", 1), 0);
    roll.observe(lease("a", 2), 10);
    roll.observe(lease("a", 3), 14);
    expect(names(roll, 15)).toEqual(["a", "b"]);
    expect(names(roll, 16)).toEqual(["a"]);
    expect(roll.checkExpired(16)).toMatchObject({ expired: [{ metadata: { name: "b" } }], isFirst: true });
    roll.observe(lease("b", 2), 17);
    expect(names(roll, 18)).toEqual(["a", "b"]);
  });

  test("a write that renews nothing is not a sign of life", () => {
    const roll = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    roll.observe(lease("b", 1), 0);
    roll.observe(lease("a", 1), 12);
    roll.observe(lease("b", 1), 12);
    expect(names(roll, 16)).toEqual(["a"]);
  });

  test("an older state that comes late is not taken for a renewal", () => {
    const roll = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    const [late, seen] = [lease("b", 1), lease("b", 2)];
    roll.observe(seen, 0);
    roll.observe(lease("a", 1), 10);
    roll.observe(late, 10);
    expect(names(roll, 16)).toEqual(["a"]);
  });

  test("nobody is dead to a process that does not see itself", () => {
    const roll = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    roll.observe(lease("a", 1), 0);
    roll.observe(lease("b", 1), 0);
    expect(names(roll, 100)).toEqual(["a", "b"]);
    expect(roll.checkExpired(100).expired).toEqual([]);
    // Sight comes back: b has its full time again only by being seen.
    roll.observeAll([lease("a", 9), lease("b", 9)], 101);
    expect(names(roll, 116)).toEqual(["a", "b"]);
  });

  test("only the first of the living reaps", () => {
    const roll = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "b", log });
    roll.observe(lease("a", 1), 0);
    roll.observe(lease("c", 1), 0);
    roll.observe(lease("b", 1), 10);
    roll.observe(lease("a", 2), 10);
    expect(roll.checkExpired(16)).toMatchObject({ expired: [{ metadata: { name: "c" } }], isFirst: false });
    roll.observe(lease("b", 2), 20);
    expect(roll.checkExpired(26)).toMatchObject({
      expired: [{ metadata: { name: "a" } }, { metadata: { name: "c" } }],
      isFirst: true,
    });
  });

  test("tells who came, went, spoke or began a new life, once each", () => {
    const roll = new ObservedMembers({ leaseDurationMs: 15, ownLeaseName: "a", log });
    let told = 0;
    roll.onChange(() => told++);
    roll.observe(lease("a", 1), 0);
    roll.observe(lease("a", 2), 1);
    expect(told).toBe(1);
    const b = lease("b", 1);
    roll.observe(b, 1);
    expect(told).toBe(2);
    roll.remove(lease("b", 1, "another life"), 2);
    expect(told).toBe(2);
    roll.remove(b, 3);
    expect(told).toBe(3);
    roll.observe(lease("a", 3, "uid-2"), 4);
    expect(told).toBe(4);
  });
});
