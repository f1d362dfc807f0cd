// Who counts as alive, by renewals seen and nothing else.
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { Roll } from "./observed-members.ts";

const log = pino({ level: "silent" });
let version = 1;

function lease(name: string, renewal: number, uid = `uid-${name}`) {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, uid, resourceVersion: String(++version) }, spec: { holderIdentity: name, renewTime: `r${renewal}`, acquireTime: "t" } };
}

const names = (roll: Roll, now: number) => roll.live(now).map(({ identity }) => identity);

describe("a membership's roll", () => {
  test("counts a member as long as renewals are seen, whatever its clock says", () => {
    const roll = new Roll({ leaseMs: 15, self: "a", log });
    roll.saw(lease("a", 1), 0);
    roll.saw(lease("b", 1), 0);
    roll.saw(lease("a", 2), 10);
    roll.saw(lease("a", 3), 14);
    expect(names(roll, 15)).toEqual(["a", "b"]);
    expect(names(roll, 16)).toEqual(["a"]);
    expect(roll.check(16)).toMatchObject({ expired: [{ metadata: { name: "b" } }], first: true });
    roll.saw(lease("b", 2), 17);
    expect(names(roll, 18)).toEqual(["a", "b"]);
  });

  test("a write that renews nothing is not a sign of life", () => {
    const roll = new Roll({ leaseMs: 15, self: "a", log });
    roll.saw(lease("b", 1), 0);
    roll.saw(lease("a", 1), 12);
    roll.saw(lease("b", 1), 12);
    expect(names(roll, 16)).toEqual(["a"]);
  });

  test("an older state that comes late is not taken for a renewal", () => {
    const roll = new Roll({ leaseMs: 15, self: "a", log });
    const [late, seen] = [lease("b", 1), lease("b", 2)];
    roll.saw(seen, 0);
    roll.saw(lease("a", 1), 10);
    roll.saw(late, 10);
    expect(names(roll, 16)).toEqual(["a"]);
  });

  test("nobody is dead to a process that does not see itself", () => {
    const roll = new Roll({ leaseMs: 15, self: "a", log });
    roll.saw(lease("a", 1), 0);
    roll.saw(lease("b", 1), 0);
    expect(names(roll, 100)).toEqual(["a", "b"]);
    expect(roll.check(100).expired).toEqual([]);
    // Sight comes back: b has its full time again only by being seen.
    roll.sawAll([lease("a", 9), lease("b", 9)], 101);
    expect(names(roll, 116)).toEqual(["a", "b"]);
  });

  test("only the first of the living reaps", () => {
    const roll = new Roll({ leaseMs: 15, self: "b", log });
    roll.saw(lease("a", 1), 0);
    roll.saw(lease("c", 1), 0);
    roll.saw(lease("b", 1), 10);
    roll.saw(lease("a", 2), 10);
    expect(roll.check(16)).toMatchObject({ expired: [{ metadata: { name: "c" } }], first: false });
    roll.saw(lease("b", 2), 20);
    expect(roll.check(26)).toMatchObject({ expired: [{ metadata: { name: "a" } }, { metadata: { name: "c" } }], first: true });
  });

  test("tells who came, went, spoke or began a new life, once each", () => {
    const roll = new Roll({ leaseMs: 15, self: "a", log });
    let told = 0;
    roll.onChange(() => told++);
    roll.saw(lease("a", 1), 0);
    roll.saw(lease("a", 2), 1);
    expect(told).toBe(1);
    const b = lease("b", 1);
    roll.saw(b, 1);
    expect(told).toBe(2);
    roll.lost(lease("b", 1, "another life"), 2);
    expect(told).toBe(2);
    roll.lost(b, 3);
    expect(told).toBe(3);
    roll.saw(lease("a", 3, "uid-2"), 4);
    expect(told).toBe(4);
  });
});
