// Which changed variables wait for a restart.
import { expect, test } from "vitest";
import { anApp, aRevision } from "../../crds/testing/objects.ts";
import type { App } from "../../crds/app/app.ts";
import { planPending } from "./pending.ts";

const secret = (key: string): object => ({ name: "TOKEN", valueFrom: { secretKeyRef: { name: "s", key } } });
const revision = aRevision(1, {
  dropletRef: { name: "d1" },
  description: "",
  processes: [],
  env: [{ name: "GREETING", value: "hello" }, { name: "OLD", value: "" }, secret("kept")],
});
const appWith = (env: object[], state = "Started"): App => anApp({ state, env });

test("variables that are new, other or gone are named", () => {
  const app = appWith([{ name: "GREETING", value: "hi" }, { name: "NEW", value: "1" }, secret("own")]);
  expect(planPending(app, revision)).toMatchObject([
    { type: "RestartPending", status: "True", message: expect.stringMatching(/^GREETING, NEW, OLD: .*spec\.restart/) },
  ]);
});

test.each<[string, App, typeof revision | undefined]>([
  ["the same", appWith([{ name: "OLD" }, secret("own"), { name: "GREETING", value: "hello" }]), revision],
  ["a stopped app's", appWith([], "Stopped"), revision],
  ["an app's that never ran", appWith([]), undefined],
])("%s wait for nothing, and get no condition", (_what, app, running) => {
  expect(planPending(app, running)).toEqual([]);
});

test("after the restart the condition is False", () => {
  const app = appWith([]);
  app.status = { conditions: [{ type: "RestartPending", status: "True" }] } as unknown as NonNullable<App["status"]>;
  expect(planPending({ ...app, spec: { ...app.spec, state: "Stopped" } }, revision)).toMatchObject([
    { type: "RestartPending", status: "False" },
  ]);
});
