// `cf` for isolation segments.
import { expect } from "vitest";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { exists, getNamed, isGone, lists, makes, makeSpace, read } from "./support/objects.ts";

const FORBIDDEN = "You are not authorized to perform the requested action";
const SEGMENTS = "isolation_segments";
const segment = makes(SEGMENTS);
const entitled = async (run: CaseRun): Promise<string> => {
  const { guid } = await segment(run);
  await run.ground.api.admin.call("POST", `/v3/isolation_segments/${guid}/relationships/organizations`, {
    data: [{ guid: run.ground.orgGUID }],
  });
  return guid;
};
const orgsOf = async (run: CaseRun): Promise<unknown> =>
  (
    await read<{ data: unknown }>(
      run,
      `/v3/isolation_segments/${(await getNamed(run, SEGMENTS)).guid}/relationships/organizations`,
    )
  ).data;
const defaultOf = async (run: CaseRun): Promise<{ guid: string } | null> =>
  (
    await read<{ data: { guid: string } | null }>(
      run,
      `/v3/organizations/${run.ground.orgGUID}/relationships/default_isolation_segment`,
    )
  ).data;
const setDefault = (run: CaseRun, guid: string | undefined): Promise<unknown> =>
  run.ground.api.admin.call(
    "PATCH",
    `/v3/organizations/${run.ground.orgGUID}/relationships/default_isolation_segment`,
    { data: guid === undefined ? null : { guid } },
  );
const segmentOf = async (run: CaseRun): Promise<unknown> =>
  (
    await read<{ data: unknown }>(
      run,
      `/v3/spaces/${(await getNamed(run, "spaces")).guid}/relationships/isolation_segment`,
    )
  ).data;

export const ISOLATION_SEGMENT_CASES: readonly CommandCases[] = [
  {
    command: "isolation-segments",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: entitled,
        run: "isolation-segments",
        shows: ["Getting isolation segments as admin...", /isolation-segments-1\s+acme/],
        effect: async (_run, output) => lists(output, "shared"),
      },
    ],
  },
  {
    command: "create-isolation-segment",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        run: "create-isolation-segment {name}",
        shows: ["Creating isolation segment {name} as admin...", "OK"],
        effect: exists(SEGMENTS),
      },
      {
        name: "one that is there already",
        as: "admin",
        given: segment,
        run: "create-isolation-segment {name}",
        shows: ["Isolation segment '{name}' already exists.", "OK"],
        effect: exists(SEGMENTS),
      },
      {
        name: "by an org manager",
        as: "org-manager",
        run: "create-isolation-segment {name}",
        refused: [FORBIDDEN],
        effect: isGone(SEGMENTS),
      },
    ],
  },
  {
    command: "delete-isolation-segment",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: segment,
        run: "delete-isolation-segment {name} -f",
        shows: ["Deleting isolation segment {name} as admin...", "OK"],
        effect: isGone(SEGMENTS),
      },
      {
        name: "one that an org may use",
        as: "admin",
        given: entitled,
        run: "delete-isolation-segment {name} -f",
        refused: [/Revoke the Organization entitlements for your Isolation Segment\./],
        effect: exists(SEGMENTS),
      },
    ],
  },
  {
    command: "enable-org-isolation",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: segment,
        run: "enable-org-isolation {org} {name}",
        shows: ["Enabling isolation segment {name} for org {org} as admin...", "OK"],
        effect: async (run) => expect(await orgsOf(run)).toEqual([{ guid: run.ground.orgGUID }]),
      },
    ],
  },
  {
    command: "disable-org-isolation",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: entitled,
        run: "disable-org-isolation {org} {name}",
        shows: ["Removing entitlement to isolation segment {name} from org {org} as admin...", "OK"],
        effect: async (run) => expect(await orgsOf(run)).toEqual([]),
      },
    ],
  },
  {
    command: "set-org-default-isolation-segment",
    cases: [
      {
        name: "by an org manager",
        alone: true,
        as: "org-manager",
        given: entitled,
        run: "set-org-default-isolation-segment {org} {name}",
        shows: [
          "Setting isolation segment {name} to default on org {org} as",
          "OK",
          "TIP: Restart applications in this organization",
        ],
        async effect(run) {
          expect(await defaultOf(run)).toEqual({ guid: (await getNamed(run, SEGMENTS)).guid });
          await setDefault(run, undefined);
        },
      },
      {
        name: "one that the org may not use",
        alone: true,
        as: "admin",
        given: segment,
        run: "set-org-default-isolation-segment {org} {name}",
        refused: [/Unable to assign isolation segment with guid/],
        effect: async (run) => expect(await defaultOf(run)).toBeNull(),
      },
    ],
  },
  {
    command: "reset-org-default-isolation-segment",
    cases: [
      {
        name: "by an admin",
        alone: true,
        as: "admin",
        given: async (run) => setDefault(run, await entitled(run)),
        run: "reset-org-default-isolation-segment {org}",
        shows: ["Resetting default isolation segment of org {org} as admin...", "OK"],
        effect: async (run) => expect(await defaultOf(run)).toBeNull(),
      },
    ],
  },
  {
    command: "set-space-isolation-segment",
    cases: [
      {
        name: "by an org manager",
        as: "org-manager",
        given: async (run) => [await entitled(run), await makeSpace(run)],
        run: "set-space-isolation-segment {name} {name}",
        shows: ["Updating isolation segment of space {name} in org {org} as", "OK"],
        effect: async (run) => expect(await segmentOf(run)).toEqual({ guid: (await getNamed(run, SEGMENTS)).guid }),
      },
      {
        name: "one that the org may not use",
        as: "admin",
        given: async (run) => [await segment(run), await makeSpace(run)],
        run: "set-space-isolation-segment {name} {name}",
        refused: [/Unable to assign isolation segment with guid/],
        effect: async (run) => expect(await segmentOf(run)).toBeNull(),
      },
    ],
  },
  {
    command: "reset-space-isolation-segment",
    cases: [
      {
        name: "by an org manager",
        as: "org-manager",
        async given(run) {
          const [guid, space] = [await entitled(run), await makeSpace(run)];
          await run.ground.api.admin.call("PATCH", `/v3/spaces/${space.guid}/relationships/isolation_segment`, {
            data: { guid },
          });
        },
        run: "reset-space-isolation-segment {name}",
        shows: ["Resetting isolation segment assignment of space {name} in org {org} as", "OK"],
        effect: async (run) => expect(await segmentOf(run)).toBeNull(),
      },
      {
        name: "in an org with a default, which applies then",
        alone: true,
        as: "org-manager",
        async given(run) {
          const [guid] = [await entitled(run), await makeSpace(run)];
          await setDefault(run, guid);
        },
        run: "reset-space-isolation-segment {name}",
        shows: ["relocate them to this organization's default isolation segment"],
        async effect(run) {
          expect(await segmentOf(run)).toBeNull();
          await setDefault(run, undefined);
        },
      },
    ],
  },
];
