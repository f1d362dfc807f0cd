// Every request that stock cf sends for a command in scope is in the recordings of the command's cases; what is not has its reason here.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { allCaseNames } from "../../e2e/cf-recording/case-names.ts";
import { queryOf, shapeOf } from "../../e2e/cf-recording/request-line.ts";
import { readRequests } from "../../e2e/cf-recording/requests-file.ts";
import { NEEDED_BY, UNREPLAYABLE, WITH_A_BROKER } from "../../e2e/cf/support/command-list.ts";

const { requests } = JSON.parse(readFileSync(new URL("cf-requests.json", import.meta.url), "utf8")) as {
  requests: Record<string, string[]>;
};
const outOfScope = new Set([...Object.values(NEEDED_BY).flat(), ...WITH_A_BROKER, ...UNREPLAYABLE]);
const recorded = new Map<string, string[]>();
for (const cases of Object.values(readRequests()))
  for (const [name, lines] of Object.entries(cases)) {
    const command = /^cf (\S+): /.exec(name)?.[1] ?? "";
    recorded.set(command, [...(recorded.get(command) ?? []), ...lines]);
  }

const LABELLED_SERVICES = [
  "GET /v3/service_brokers ?names&page&per_page",
  "GET /v3/service_offerings ?fields&names&page&per_page",
  "GET /v3/service_plans ?names",
];
const LABELS_OF_SERVICES = ["brokers", "offerings", "plans"].map((kind) => `PATCH /v3/service_${kind}/:guid`);
const CANCEL = ["POST /v3/deployments/:deployment_guid/actions/cancel"];

/** Requests that no case sends, by the reason and the command. */
const NEVER: Readonly<Record<string, Record<string, readonly string[]>>> = {
  "needs service brokers": {
    labels: LABELLED_SERVICES,
    "set-label": [...LABELLED_SERVICES, ...LABELS_OF_SERVICES],
    "unset-label": [...LABELLED_SERVICES, ...LABELS_OF_SERVICES],
    service: [
      "GET /v3/feature_flags/:name",
      "GET /v3/service_instances/:service_instance_guid/relationships/shared_spaces ?fields",
      "GET /v3/service_instances/:service_instance_guid/relationships/shared_spaces/usage_summary",
      "GET /v3/service_offerings/:service_offering_guid",
      "GET /v3/service_plans/:service_plan_guid",
    ],
    ...Object.fromEntries(
      ["bind-service", "delete-service", "rename-service", "unbind-service"].map((command) => [
        command,
        ["GET /v3/jobs/:guid"],
      ]),
    ),
  },
  "is sent to an API below 3.211 only, which has no embed=process_instances": {
    apps: ["GET /v3/processes ?app_guids", "GET /v3/processes/:process_guid/stats"],
  },
  "is sent to an API below 3.86 only": {
    revision: ["GET /v3/droplets ?app_guids"],
    revisions: ["GET /v3/droplets ?app_guids"],
    rollback: ["GET /v3/droplets ?app_guids"],
  },
  "is sent with --client only, which names a client of a UAA": {
    "unset-org-role": ["GET /v3/users/:user_guid"],
    "unset-space-role": ["GET /v3/users/:user_guid"],
  },
  "is sent while a package is not READY, which it is when its upload or copy is answered": {
    "copy-source": ["GET /v3/packages/:package_guid"],
    push: ["GET /v3/packages/:package_guid"],
  },
  "is sent when an app has not started within minutes": {
    "continue-deployment": CANCEL,
    "copy-source": CANCEL,
    push: CANCEL,
    restage: CANCEL,
    restart: CANCEL,
    rollback: CANCEL,
  },
};

/** `fields[space]` is one of `fields`. */
function withoutIndex(key: string): string {
  return key.replace(/\[.*$/, "");
}

function isRecorded(command: string, wanted: string): boolean {
  return (recorded.get(command) ?? []).some(
    (line) =>
      shapeOf(line) === shapeOf(wanted) &&
      queryOf(wanted).every((key) => key.split("|").some((one) => queryOf(line).map(withoutIndex).includes(one))),
  );
}

test("each case has its recording, and no recording is of a case that is gone", () => {
  const names = Object.values(readRequests()).flatMap((group) => Object.keys(group));
  const why = "record it: CONTRIBUTING.md, A case of stock cf";
  expect([...new Set(names)].sort(), why).toEqual([...allCaseNames()].sort());
});

test("every request of cf for a command in scope is in the recordings, but for those with a reason", () => {
  const missing = Object.entries(requests)
    .filter(([command]) => !outOfScope.has(command))
    .flatMap(([command, lines]) =>
      lines.filter((line) => !isRecorded(command, line)).map((line) => `cf ${command}: ${line}`),
    );
  const explained = Object.values(NEVER).flatMap((commands) =>
    Object.entries(commands).flatMap(([command, lines]) => lines.map((line) => `cf ${command}: ${line}`)),
  );
  expect(missing.toSorted()).toEqual(explained.toSorted());
});
