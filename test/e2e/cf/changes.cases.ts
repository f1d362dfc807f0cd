// `cf` for changes of an app that is there: scale, restart-app-instance, rename, delete.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import {
  answers,
  expectState,
  findApp,
  makeApp,
  makeAppWithWorker,
  processOf,
  statesOf,
  untilRunning,
} from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { forbidden, noSuchApp } from "./support/refusals.ts";

const running = (run: CaseRun) => makeApp(run);
const empty = (run: CaseRun) => makeApp(run, { is: "empty" });
const stopped = (run: CaseRun) => makeApp(run, { is: "stopped" });

export const CHANGE_CASES: readonly CommandCases[] = [
  {
    command: "scale",
    cases: [
      {
        name: "-i",
        given: running,
        run: "scale {name} -i 2",
        shows: ["Scaling app {name} in org {org} / space {space} as", /instances:\s+\d\/2/],
        effect: async (run) => {
          await untilRunning(run.ground, run.values["app"] ?? "");
          expect(await statesOf(run.ground, run.values["app"] ?? "")).toEqual(["RUNNING", "RUNNING"]);
        },
      },
      {
        name: "-i 0",
        given: running,
        run: "scale {name} -i 0",
        shows: [/instances:\s+\d\/0/],
        effect: (run) =>
          eventually(async () => expect(await statesOf(run.ground, run.values["app"] ?? "")).toEqual([])),
      },
      {
        name: "-m, -k, -l, -f, which restart it",
        given: running,
        run: "scale {name} -m 96M -k 300M -l 5K -f",
        shows: ["Stopping app {name}", "Starting app {name}", /memory usage:\s+96M/],
        effect: async (run) =>
          expect(await processOf(run)).toMatchObject({
            memory_in_mb: 96,
            disk_in_mb: 300,
            log_rate_limit_in_bytes_per_second: 5120,
          }),
      },
      {
        name: "-m with a person who says no",
        given: running,
        run: "scale {name} -m 96M",
        input: "n\n",
        shows: ["This will cause the app to restart", "Scaling cancelled"],
        effect: async (run) => expect((await processOf(run)).memory_in_mb).not.toBe(96),
      },
      {
        name: "without flags, which shows it",
        given: running,
        run: "scale {name}",
        shows: ["Showing current scale of app {name} in org {org} / space {space} as", /instances:\s+1\/1/],
        effect: (run) => expectState(run, "STARTED"),
      },
      {
        name: "a stopped app",
        given: stopped,
        run: "scale {name} -m 80M -f",
        effect: async (run) => {
          expect(await processOf(run)).toMatchObject({ memory_in_mb: 80 });
        },
      },
      {
        name: "--process",
        given: makeAppWithWorker,
        run: "scale {name} --process worker -i 2",
        shows: [/type:\s+worker\s+sidecars:\s+instances:\s+\d\/2/],
        effect: async (run) => {
          await untilRunning(run.ground, run.values["app"] ?? "", "worker");
          expect(await processOf(run, "worker")).toMatchObject({ instances: 2 });
          expect(await processOf(run)).toMatchObject({ instances: 1 });
        },
      },
      {
        name: "--process, to none",
        given: makeAppWithWorker,
        run: "scale {name} --process worker -i 0",
        shows: [/type:\s+worker/],
        effect: async (run) => {
          await eventually(async () =>
            expect(await statesOf(run.ground, run.values["app"] ?? "", "worker")).toEqual([]),
          );
          expect(await run.cf("developer", "app", run.name)).toContain(
            "There are no running instances of this process.",
          );
        },
      },
      {
        name: "--process of a type that the app has not",
        given: stopped,
        run: "scale {name} --process worker -i 2",
        refused: ["Process worker not found"],
      },
      {
        name: "by a supporter, who may",
        as: "supporter",
        given: stopped,
        run: "scale {name} -i 3",
        effect: async (run) => expect((await processOf(run)).instances).toBe(3),
      },
      forbidden("auditor", "scale {name} -i 3"),
      noSuchApp("scale", "-i 2"),
    ],
  },
  {
    command: "restart-app-instance",
    cases: [
      {
        name: "an instance that runs",
        given: running,
        run: "restart-app-instance {name} 0",
        shows: ["Restarting instance 0 of process web of app {name} in org {org} / space {space} as", "OK"],
        effect: (run) => untilRunning(run.ground, run.values["app"] ?? ""),
      },
      {
        name: "--process",
        given: makeAppWithWorker,
        run: "restart-app-instance {name} 0 --process worker",
        shows: ["Restarting instance 0 of process worker of app {name}", "OK"],
        effect: (run) => untilRunning(run.ground, run.values["app"] ?? "", "worker"),
      },
      {
        name: "an index that it has not",
        given: running,
        run: "restart-app-instance {name} 9",
        refused: ["Instance 9 of process web not found"],
      },
      {
        name: "--process of a type that the app has not",
        given: running,
        run: "restart-app-instance {name} 0 --process worker",
        refused: ["Process worker not found"],
      },
      forbidden("auditor", "restart-app-instance {name} 0"),
      noSuchApp("restart-app-instance", "0"),
    ],
  },
  {
    command: "rename",
    cases: [
      {
        name: "to a free name",
        given: stopped,
        run: "rename {name} {name}-new",
        shows: ["Renaming app {name} to {name}-new in org {org} / space {space} as", "OK"],
        effect: async (run) => {
          expect((await findApp(run.ground, `${run.name}-new`))?.guid).toBe(run.values["app"]);
          expect(await findApp(run.ground, run.name)).toBeUndefined();
        },
      },
      {
        name: "to a name that is taken",
        given: async (run) => {
          await makeApp(run, { is: "empty" });
          await makeApp(run, { name: `${run.name}-taken`, is: "empty" });
        },
        run: "rename {name} {name}-taken",
        refused: ["App with the name '{name}-taken' already exists."],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toBeDefined(),
      },
      {
        name: "an app that runs, which goes on under its new name",
        given: running,
        run: "rename {name} {name}-new",
        effect: async (run) => {
          await answers(run, 200);
          expect(await run.cf("developer", "app", `${run.name}-new`)).toMatch(/#0\s+running/);
        },
      },
      forbidden("auditor", "rename {name} other"),
      noSuchApp("rename", "other"),
    ],
  },
  {
    command: "delete",
    cases: [
      {
        name: "-f, which leaves the route",
        given: running,
        run: "delete {name} -f",
        shows: ["Deleting app {name} in org {org} / space {space} as", "OK"],
        effect: async (run) => {
          expect(await findApp(run.ground, run.name)).toBeUndefined();
          await answers(run, 404);
          expect(await run.cf("developer", "routes")).toContain(run.name);
        },
      },
      {
        name: "-f -r, which takes the routes along",
        given: running,
        run: "delete {name} -f -r",
        effect: async (run) => {
          expect(await findApp(run.ground, run.name)).toBeUndefined();
          expect(await run.cf("developer", "routes")).not.toMatch(new RegExp(`\\s${run.name}\\s`));
        },
      },
      {
        name: "with a person who says yes",
        given: empty,
        run: "delete {name}",
        input: "y\n",
        shows: ["Really delete the app {name}?", "OK"],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toBeUndefined(),
      },
      {
        name: "with a person who says no",
        given: empty,
        run: "delete {name}",
        input: "n\n",
        shows: ["App '{name}' has not been deleted."],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toBeDefined(),
      },
      {
        name: "an app that does not exist",
        run: "delete {name} -f",
        shows: ["App '{name}' does not exist.", "OK"],
        effect: async (run) => expect(await findApp(run.ground, run.name)).toBeUndefined(),
      },
      {
        ...forbidden("auditor", "delete {name} -f"),
        effect: async (run: CaseRun) => expect(await findApp(run.ground, run.name)).toBeDefined(),
      },
    ],
  },
];
