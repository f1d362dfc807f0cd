// Generates docs/api.md from the endpoint table.
import type { Endpoint } from "../routing/endpoint.ts";
import { describePermission } from "./permission.ts";

/** `/v3/apps/:guid` belongs to `apps`; paths outside of /v3 belong to `entrance`. */
function groupOf({ path }: Endpoint): string {
  return /^\/v3\/([^/:.]+)/.exec(path)?.[1] ?? "entrance";
}

function rowOf({ method, path, summary = "", permission }: Endpoint): string {
  return `| ${method} | \`${path}\` | ${summary} | ${describePermission(permission).join(", ")} |`;
}

function section(name: string, rows: readonly Endpoint[]): string[] {
  return [
    `## ${name.replaceAll("_", " ")}`,
    "",
    "| | path | does | right |",
    "|---|---|---|---|",
    ...rows.map(rowOf),
    "",
  ];
}

export function apiReference(endpoints: readonly Endpoint[]): string {
  const served = endpoints.filter(({ isAlwaysEmpty }) => !isAlwaysEmpty);
  const groups = Map.groupBy(served, groupOf);
  return [
    "# The CF API: what is served",
    "",
    "Printed from the endpoint table (`npm run gen`). Every other request of v3 is answered with 404 `Unknown request`. Objects, filters and errors are those of",
    "CAPI 3.228.0; [errors.md](errors.md) lists the errors, `GET /v3/openapi.json` gives queries and bodies.",
    "",
    "**right** is what Kubernetes RBAC must allow the caller on the object concerned: verb, kind, and for finer rights a virtual subresource (`apps/env`). Who cannot see an object gets",
    "404, who can see but not change it 403. *authenticated*: every caller with a credential; the answer holds what RBAC lets them see. *anonymous*: everybody, without a credential. *anyone*: everybody, too; a caller with a credential sees more.",
    "",
    ...[...groups]
      .sort(([one], [other]) => (one === "entrance" ? -1 : other === "entrance" ? 1 : one < other ? -1 : 1))
      .flatMap(([name, members]) => section(name, members)),
    "## Answers that are empty, and true",
    "",
    "Nothing of these kinds can exist on this platform yet, so their lists have no members, whatever the filter, and one by its GUID is not found (GET, PATCH and DELETE). There is no way to create one: a POST is `Unknown request`.",
    "",
    ...new Set(endpoints.filter(({ isAlwaysEmpty }) => isAlwaysEmpty).map(({ path }) => `- \`${path}\``)),
    "",
  ].join("\n");
}
