// Which Ready conditions become Events.
import { expect, test } from "vitest";
import type { Condition } from "../api/object.ts";
import type { ReadyDraft } from "./controller.ts";
import type { EventDraft } from "./event-recorder.ts";
import { createReadyEvents } from "./ready-events.ts";

const crashed: ReadyDraft = { status: "False", reason: "Crashed", message: "exit status 7", isFailure: true };
const refused: ReadyDraft = { status: "False", reason: "NameTaken", message: "taken", isFailure: true };
const starting: ReadyDraft = { status: "False", reason: "Starting", message: "0 of 1" };
const running: ReadyDraft = { status: "True", reason: "Running", message: "1 of 1" };

/** The Events of conditions that are written one after the other. */
function eventsOf(...written: ReadyDraft[]): (string | undefined)[] {
  const events = createReadyEvents();
  let before: Condition | undefined;
  return written.map((ready) => {
    events.observe("uid", ready);
    const event: EventDraft | undefined = events.planEvent("uid", before, ready);
    before = { type: "Ready", ...ready, lastTransitionTime: "" };
    return event && `${event.type} ${event.reason}: ${event.message}`;
  });
}

test.each<[string, ReadyDraft[], (string | undefined)[]]>([
  ["a start that succeeds has none", [starting, running], [undefined, undefined]],
  [
    "a failure and its end have one each",
    [crashed, starting, running],
    ["Warning Crashed: exit status 7", undefined, "Normal Recovered: Crashed is over: 1 of 1"],
  ],
  [
    "the same failure with another text has none",
    [crashed, { ...crashed, message: "exit status 8" }],
    ["Warning Crashed: exit status 7", undefined],
  ],
  ["another failure has its own", [crashed, refused], ["Warning Crashed: exit status 7", "Warning NameTaken: taken"]],
  [
    "each crash of a loop has one",
    [crashed, starting, crashed],
    ["Warning Crashed: exit status 7", undefined, "Warning Crashed: exit status 7"],
  ],
  [
    "it is over once",
    [crashed, running, running],
    ["Warning Crashed: exit status 7", "Normal Recovered: Crashed is over: 1 of 1", undefined],
  ],
])("%s", (_what, written, expected) => expect(eventsOf(...written)).toEqual(expected));

test("a replica that did not write the failure knows its end", () => {
  const events = createReadyEvents();
  events.observe("uid", crashed);
  expect(events.planEvent("uid", undefined, running)?.reason).toBe("Recovered");
});
