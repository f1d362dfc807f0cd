// A process that is placed on clusters is not handed over.
import { expect, test } from "vitest";
import { PlacementDecision } from "../../crds/placement-decision/placement-decision.ts";
import { aProcess, makeObject } from "../../crds/testing/objects.ts";
import { judgePlaced } from "./detach.ts";

const decisionOf = (name: string): PlacementDecision =>
  makeObject(PlacementDecision, name, { spec: { segment: "shared", app: "g", processType: "web", assignments: [] } });

test("the sentence names the process and its segment", () => {
  const refusal = judgePlaced("shop", [aProcess()], [decisionOf("shop.web")]);
  expect(refusal?.message).toContain("process web of shop is placed on clusters by isolation segment shared");
  expect(refusal?.next).toContain("cup placement explain shop");
});

test("one without a decision is handed over, whatever other processes have", () =>
  expect(judgePlaced("shop", [aProcess()], [decisionOf("shop.worker")])).toBeUndefined());
