// Which droplets no pod can run.
import { expect, test } from "vitest";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { findRefusal } from "./refused-droplet.ts";

type Spec = Parameters<typeof findRefusal>[0];
const spec = (droplet: Partial<LRP["spec"]["droplet"]>, more: Partial<Spec> = {}): Spec => ({
  class: "deployment",
  processType: "web",
  command: undefined,
  droplet: { guid: "d", kind: "cnb", image: "r/x", processTypes: {}, ...droplet },
  ...more,
});

test.each<[string, Spec, RegExp | undefined]>([
  ["a layer of a host", spec({ kind: "host" }), /^class deployment runs images/],
  ["a built image without any process", spec({}), /no process type web and no start command is set/],
  ["one with a command", spec({}, { command: "./run" }), undefined],
  ["one whose default process has another type", spec({ processTypes: { worker: "./run" } }), undefined],
  ["any image: its entrypoint runs", spec({ kind: "docker" }), undefined],
])("%s", (_what, given, expected) => {
  const refusal = findRefusal(given);
  if (expected) expect(refusal).toMatch(expected);
  else expect(refusal).toBeUndefined();
});
