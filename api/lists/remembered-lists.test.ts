// Remembered lists are bounded: by their items, and by the time that nobody asks for them.
import { afterEach, expect, test, vi } from "vitest";
import { App } from "../../crds/app/app.ts";
import { createLiveCache } from "../access/testing/live-cache.ts";
import { rememberedList } from "./remembered-lists.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Lists of so many items, and how often each was found. */
function listsOf(length: number) {
  const live = createLiveCache();
  const finds: string[] = [];
  const ask = (url: string): void => {
    const find = () => (finds.push(url), new Array<unknown>(length));
    rememberedList(live.session("dev"), { ref: App, url, reads: [App], dependsOn: [], find });
  };
  return { ask, finds };
}

test("the list asked for longest ago goes when all lists together have too many items", () => {
  const { ask, finds } = listsOf(900_000);
  for (const url of ["a", "b", "a", "c", "a", "b"]) ask(url);
  expect(finds).toEqual(["a", "b", "c", "b"]);
});

test("a list that nobody asked for in ten minutes goes", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let now = 1;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  const { ask, finds } = listsOf(1);
  for (const minutes of [0, 9, 9, 11]) {
    now += minutes * 60_000;
    vi.advanceTimersByTime(minutes * 60_000);
    ask("a");
  }
  expect(finds).toEqual(["a", "a"]);
});
