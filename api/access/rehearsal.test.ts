// Writes that are judged together: none is made when one is denied, and none is rehearsed where nothing is judged.
import { expect, test, vi } from "vitest";
import { App } from "../../crds/app/app.ts";
import { Process } from "../../crds/process/process.ts";
import { anApp } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { notAuthorized, unprocessable } from "../http/errors.ts";
import type { PolicyCheck } from "./policy-check.ts";
import { createRehearsal, writeAllOrNone } from "./rehearsal.ts";
import type { Session } from "./session.ts";

const forbidden = (): never => {
  throw new Error("a rehearsal writes nothing");
};

/** A session whose own writes are recorded; `denied` are the names of objects that policy denies. */
function setUp({ denied = [] as string[], judged = true, isAllowed = true } = {}) {
  const made: string[] = [];
  const planned: string[][] = [];
  const policy: PolicyCheck = {
    judges: () => judged,
    refusals(_ref, write, before = []) {
      planned.push(before.map(({ metadata }) => metadata.name));
      const name = "draft" in write ? (write.draft.metadata.name ?? "") : write.object.metadata.name;
      return denied.includes(name) ? [`no ${name}`] : [];
    },
  };
  const own = {
    create: async (_ref: unknown, { metadata }: { metadata: { name: string } }) => {
      made.push(metadata.name);
      return { metadata };
    },
    platformClient: { create: forbidden, patch: forbidden, find: forbidden },
    recordAppEvent: forbidden,
  } as unknown as Session;
  const permissions = { decide: () => Promise.resolve(isAllowed) };
  const rehearse = createRehearsal(own, { policy, permissions, reportUndeclared: () => undefined } as never);
  return { made, planned, session: { ...own, rehearse } satisfies Session };
}

async function createBoth(session: Session): Promise<string> {
  const app = await session.create(App, { metadata: { name: "app", namespace: "dev" }, spec: {} });
  await session.create(Process, { metadata: { name: "web", namespace: app.metadata.namespace }, spec: {} });
  return app.metadata.name;
}

test("all are made when none is denied", async () => {
  const { session, made } = setUp();
  expect([await writeAllOrNone(session, [App], createBoth), made]).toEqual(["app", ["app", "web"]]);
});

test("none is made when the last is denied; each denial is an error", async () => {
  const { session, made } = setUp({ denied: ["app", "web"] });
  await expect(writeAllOrNone(session, [App], createBoth)).rejects.toMatchObject({
    status: 422,
    errors: [{ detail: "no app" }, { detail: "no web" }],
  });
  expect(made).toEqual([]);
});

test("where no constraint judges the kinds, the work runs once", async () => {
  const { session } = setUp({ judged: false });
  const work = vi.fn(createBoth);
  await writeAllOrNone(session, [App], work);
  expect(work).toHaveBeenCalledExactlyOnceWith(session);
});

test("a rehearsal patches what it made, and touches neither Secrets nor audit events", async () => {
  const { session } = setUp();
  let seen: App | undefined;
  await session.rehearse([App], async (writer) => {
    writer.recordAppEvent("x", anApp());
    await writer.platformClient.create(App, { metadata: { name: "s" } });
    const app = await writer.create<App>(App, { metadata: { name: "app", namespace: "dev" }, spec: {} });
    seen = await writer.patchWithRetry<App>(App, app, () => ({ spec: { state: "Started" } }));
  });
  expect(seen).toMatchObject({ kind: "App", metadata: { name: "app" }, spec: { state: "Started", lifecycle: {} } });
});

test("each write is judged with those that are planned before it, also of a rehearsal before", async () => {
  const { session, planned } = setUp();
  const all: KubeObject[] = [anApp()];
  await session.rehearse([App], createBoth, all);
  expect(planned).toEqual([["shop"], ["shop", "app"]]);
  expect(all.map(({ metadata }) => metadata.name)).toEqual(["shop", "app"]);
});

test("another mistake, and a caller without the right, end the rehearsal without a word", async () => {
  const { session } = setUp({ denied: ["app"] });
  const work = async (writer: Session): Promise<void> => {
    await createBoth(writer);
    throw unprocessable("the mistake");
  };
  await expect(session.rehearse([App], work)).resolves.toEqual(["no app"]);
  const refused = vi.fn();
  const { session: other } = setUp({ denied: ["app"], isAllowed: false });
  const attempt = (writer: Session): Promise<unknown> => createBoth(writer).catch(refused);
  expect([await other.rehearse([App], attempt), refused.mock.calls]).toEqual([[], [[notAuthorized()]]]);
});
