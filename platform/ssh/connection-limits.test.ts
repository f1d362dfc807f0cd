// Which unauthenticated connections are closed when there are too many, or too old.
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { createWaitingRoom } from "./connection-limits.ts";

const socketFrom = (remoteAddress: string, bytesRead = 0): Socket & { destroyed: boolean } =>
  Object.assign(new EventEmitter(), {
    remoteAddress,
    bytesRead,
    destroyed: false,
    destroy() {
      this.destroyed = true;
      (this as unknown as EventEmitter).emit("close");
    },
  }) as unknown as Socket & { destroyed: boolean };

test("a flood from one address closes its own connections, not those of others", () => {
  const room = createWaitingRoom({ max: 10 });
  const other = socketFrom("192.0.2.1");
  room.enter(other);
  const flood = Array.from({ length: 100 }, () => socketFrom("198.51.100.1"));
  for (const socket of flood) room.enter(socket);
  expect(room.size).toBe(10);
  expect(other.destroyed).toBe(false);
  expect(flood.filter(({ destroyed }) => !destroyed)).toHaveLength(9);
  const late = socketFrom("192.0.2.2");
  room.enter(late);
  expect([late.destroyed, room.size]).toEqual([false, 10]);
});

test("behind a balancer, where all have one address, silent connections close before a handshake", () => {
  const room = createWaitingRoom({ max: 10 });
  const honest = socketFrom("192.0.2.1", 500);
  room.enter(honest);
  for (let at = 0; at < 100; at += 1) room.enter(socketFrom("192.0.2.1"));
  expect([honest.destroyed, room.size]).toEqual([false, 10]);
});

test("where all have sent something, any one closes, not the oldest", () => {
  const random = vi.fn(() => 0.95);
  const room = createWaitingRoom({ max: 10, random });
  const honest = socketFrom("192.0.2.1", 500);
  room.enter(honest);
  for (let at = 0; at < 100; at += 1) room.enter(socketFrom("192.0.2.1", 20));
  expect([honest.destroyed, room.size]).toEqual([false, 10]);
  random.mockReturnValue(0);
  room.enter(socketFrom("192.0.2.1", 20));
  expect(honest.destroyed).toBe(true);
});

test("one that does not log in is closed in time; one that has is not", () => {
  vi.useFakeTimers();
  try {
    const room = createWaitingRoom({ loginMs: 1000 });
    const [idle, known] = [socketFrom("192.0.2.1"), socketFrom("192.0.2.1")];
    room.enter(idle);
    room.enter(known);
    room.leave(known);
    vi.advanceTimersByTime(1001);
    expect([idle.destroyed, known.destroyed, room.size]).toEqual([true, false, 0]);
  } finally {
    vi.useRealTimers();
  }
});
