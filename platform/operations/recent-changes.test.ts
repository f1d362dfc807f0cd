// Which changes are kept for the next leader, and how many.
import { expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { anApp } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { Change } from "../../kube/cache/reader.ts";
import { keepRecentChanges } from "./recent-changes.ts";

/** Its changes are no events. */
const quiet = anApp();

/** Watches Apps; `at` is the time in milliseconds. */
function start() {
  const clock = { at: 0 };
  let listener: ((change: Change<KubeObject>) => void) | undefined;
  const informers = {
    ensure: () => ({ store: { onChange: (heard: typeof listener) => void (listener = heard) } }),
  } as unknown as Informers;
  const changes = keepRecentChanges(informers, [App], {
    judge: (one) => (one.change.object === quiet ? undefined : one),
    now: () => new Date(clock.at),
  });
  const follow = (): { seen: number[]; end: () => void } => {
    const seen: number[] = [];
    return { seen, end: changes.follow(({ at }) => seen.push(at.getTime())) };
  };
  const see = (at: number, what: object = { type: "modified", old: anApp() }): void => {
    clock.at = at;
    listener?.({ object: anApp(), initial: false, ...what } as object as Change<KubeObject>);
  };
  return { clock, see, follow };
}

test("a minute of changes is kept, a thousand at most, and followers hear of each once", () => {
  const { clock, see, follow } = start();
  see(0);
  see(59_000);
  clock.at = 61_000;
  const { seen, end } = follow();
  expect(seen).toEqual([59_000]);
  see(62_000);
  expect(seen).toEqual([59_000, 62_000]);
  end();
  for (let at = 63_000; at < 64_500; at++) see(at);
  expect(seen).toHaveLength(2);
  expect(follow().seen).toHaveLength(1_000);
});

test("changes that are no events drive none out", () => {
  const { see, follow } = start();
  see(0);
  for (let at = 1; at <= 1_000; at++) see(at, { type: "modified", old: anApp(), object: quiet });
  expect(follow().seen).toEqual([0]);
});

test.each([
  ["an object of the first list", { type: "added", initial: true }, 0],
  ["a change that a list found", { type: "modified", old: anApp(), initial: true }, 1],
  ["a deletion that a list found", { type: "deleted", old: anApp(), initial: true }, 1],
  ["what a parked watch lost sight of", { type: "deleted", old: anApp(), evicted: true }, 0],
])("%s", (_name, change, kept) => {
  const { see, follow } = start();
  see(1, change);
  expect(follow().seen).toHaveLength(kept);
});
