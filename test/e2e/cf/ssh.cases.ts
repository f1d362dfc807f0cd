// `cf ssh` and `cf ssh-code`: programs and shells beside an instance, and who is refused.
import { expect } from "vitest";
import { makeApp, untilRunning } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { noSuchApp } from "./support/refusals.ts";

const REFUSED = ["Error opening SSH connection: You are not authorized to perform the requested action."];

const withSSHOff = async (run: CaseRun): Promise<void> => {
  await makeApp(run);
  await run.cf("developer", "disable-ssh", run.name);
};

async function withTwo(run: CaseRun): Promise<void> {
  const app = await makeApp(run);
  await run.ground.api.admin.call("POST", `/v3/apps/${app}/processes/web/actions/scale`, { instances: 2 });
  await untilRunning(run.ground, app);
}

export const SSH_CASES: readonly CommandCases[] = [
  {
    command: "ssh",
    cases: [
      {
        name: "-c, in the app's environment and folder",
        login: "token",
        given: (run) => makeApp(run),
        run: ["ssh", "{name}", "-c", 'echo "$CF_INSTANCE_INDEX $VCAP_APPLICATION"; ls'],
        shows: [/^0 \{/m, "package.json"],
        effect: (run, output) => Promise.resolve(expect(output).toContain(run.values["app"])),
      },
      {
        name: "-i 1",
        login: "token",
        given: withTwo,
        run: ["ssh", "{name}", "-i", "1", "-c", 'echo "index $CF_INSTANCE_INDEX"'],
        shows: ["index 1"],
        effect: (run, output) => Promise.resolve(expect(output).not.toContain("index 0")),
      },
      {
        name: "a shell that reads its commands",
        login: "token",
        given: (run) => makeApp(run),
        run: "ssh {name}",
        input: "echo $((6 * 7))\necho $CF_INSTANCE_GUID\n",
        shows: [/^42$/m],
        effect: (_run, output) => Promise.resolve(expect(output).toMatch(/^[0-9a-f-]{36}$/m)),
      },
      {
        name: "--force-pseudo-tty",
        login: "token",
        given: (run) => makeApp(run),
        // An image need not have the program tty.
        run: ["ssh", "{name}", "--force-pseudo-tty", "-c", "test -t 0 && test -t 1 && echo a terminal"],
        shows: ["a terminal"],
        effect: (_run, output) => Promise.resolve(expect(output).not.toContain("error")),
      },
      {
        name: "by an auditor",
        as: "auditor",
        login: "token",
        given: (run) => makeApp(run),
        run: "ssh {name} -c id",
        refused: REFUSED,
      },
      {
        name: "by a supporter",
        as: "supporter",
        login: "token",
        given: (run) => makeApp(run),
        run: "ssh {name} -c id",
        refused: REFUSED,
      },
      {
        name: "an app whose ssh is off",
        login: "token",
        given: withSSHOff,
        run: "ssh {name} -c id",
        refused: REFUSED,
      },
      {
        name: "an instance that is not there",
        login: "token",
        given: (run) => makeApp(run),
        run: "ssh {name} -i 7 -c id",
        refused: ["Instance 7 of process web not found"],
      },
      { ...noSuchApp("ssh"), login: "token" },
    ],
  },
  {
    command: "ssh-code",
    cases: [
      {
        name: "a code of one use",
        login: "token",
        run: "ssh-code",
        shows: [/^[\w-]{43}$/m],
        effect: (_run, output) => Promise.resolve(expect(output.trim()).toHaveLength(43)),
      },
      {
        name: "with a kubeconfig, which has no token to ask with",
        run: "ssh-code",
        refused: ["cf ssh needs a login by token"],
      },
    ],
  },
];
