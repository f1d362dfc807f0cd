// Errors for an invalid body or query have CF's wording and no paths of our schemas.
import { expect, test } from "vitest";
import type { z } from "zod";
import { createAppBody, currentDropletBody, featureBody, setVariablesBody } from "../app/payload.ts";
import { createQuotaBody } from "../org-quota/payload.ts";
import { createPackageBody } from "../package/payload.ts";
import { updateProcessBody } from "../process/payload.ts";
import { insertDestinationsBody, updateRouteBody } from "../route/payload.ts";
import { createSpaceBody } from "../space/payload.ts";
import { createTaskBody } from "../task/payload.ts";
import { CFError } from "./errors.ts";
import { addToManySchema } from "./shared-schemas.ts";
import { listQuery } from "./query.ts";
import { parseBody, parseQuery } from "./validation.ts";

function detailOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (error instanceof CFError) return error.message;
    throw error;
  }
  throw new Error("nothing was refused");
}

const space = { space: { data: { guid: "s" } } };
const app = (more: object) => ({ name: "a", relationships: space, ...more });
const buildpackApp = (data: unknown) => app({ lifecycle: { type: "buildpack", data } });

test.each<[z.ZodType, unknown, string]>([
  [createAppBody, app({ name: "" }), "Name can't be blank"],
  [createAppBody, app({ name: "a " }), "Name must not begin or end with a blank"],
  [
    createAppBody,
    app({ relationships: {} }),
    "Relationships 'relationships' must include one or more valid relationships",
  ],
  [createAppBody, app({ relationships: { ...space, foo: 1 } }), "Relationships Unknown field(s): 'foo'"],
  [
    createAppBody,
    app({ relationships: { space: { data: { guid: 5 } } } }),
    "Relationships Space guid must be a string, Relationships Space guid must be between 1 and 200 characters",
  ],
  [
    createAppBody,
    app({ relationships: { space: { data: { guid: "s".repeat(201) } } } }),
    "Relationships Space guid must be between 1 and 200 characters",
  ],
  [createAppBody, buildpackApp({ x: 1 }), "Lifecycle Unknown field(s): 'x'"],
  [createAppBody, app({ lifecycle: 1 }), "Lifecycle data must be an object"],
  [createAppBody, app({ lifecycle: { type: "cnb" } }), "Lifecycle data must be an object"],
  [createAppBody, app({ lifecycle: {} }), "Lifecycle data must be an object"],
  [createAppBody, { relationships: space }, "Name must be a string"],
  [createAppBody, app({ name: [] }), "Name must be a string"],
  [createSpaceBody, { name: null, relationships: { organization: space.space } }, "Name can't be blank"],
  [
    createAppBody,
    app({ relationships: { space: null } }),
    'Relationships Space can\'t be blank, Relationships Space must be structured like this: "space: {"data": {"guid": "valid-guid"}}"',
  ],
  [
    createAppBody,
    app({ relationships: { space: { data: {} } } }),
    'Relationships Space must be structured like this: "space: {"data": {"guid": "valid-guid"}}"',
  ],
  [
    createQuotaBody,
    { name: "q", relationships: { organizations: { data: 5 } } },
    'Relationships Organizations must be structured like this: "organizations: {"data": [{"guid": "valid-guid"},{"guid": "valid-guid"}]}"',
  ],
  [createQuotaBody, { name: "q", apps: { total_instances: "x" } }, "Apps Total instances is not a number"],
  [createQuotaBody, { name: "q", apps: { total_instances: 1.5 } }, "Apps Total instances must be an integer"],
  [addToManySchema, { data: {} }, "Data can't be blank, Data must be an array"],
  [addToManySchema, { data: [] }, "Data can't be blank"],
  [
    createPackageBody,
    { type: "docker", relationships: { app: space.space }, data: {} },
    "Data Image must be a string, Data Image required",
  ],
  [
    createPackageBody,
    { type: "bits", relationships: { app: space.space }, data: 5 },
    "Data Data must be empty if provided for bits packages",
  ],
  [
    createTaskBody,
    { command: "x", droplet_guid: 5 },
    "Droplet guid must be a string, Droplet guid must be between 1 and 200 characters",
  ],
  [
    createTaskBody,
    { template: {} },
    "Template process guid must be a string, Template process guid must be between 1 and 200 characters",
  ],
  [
    createAppBody,
    app({ lifecycle: { type: 5, data: {} } }),
    "Lifecycle type is not included in the list: buildpack, docker, cnb, Lifecycle type must be a string",
  ],
  [featureBody, {}, "Enabled must be a boolean"],
  [setVariablesBody, {}, "Var must be an object"],
  [
    createAppBody,
    app({ lifecycle: { type: "x", data: {} } }),
    "Lifecycle type is not included in the list: buildpack, docker, cnb",
  ],
  [createAppBody, buildpackApp({ stack: "" }), "Lifecycle Stack must be between 1 and 4096 characters"],
  [createAppBody, buildpackApp({ stack: 5 }), "Lifecycle Stack must be a string"],
  [createAppBody, buildpackApp({ buildpacks: "x" }), "Lifecycle Buildpacks must be an array"],
  [createAppBody, buildpackApp({ buildpacks: ["a", 5] }), "Lifecycle Buildpacks can only contain strings"],
  [
    createAppBody,
    buildpackApp({ buildpacks: ["", ""] }),
    "Lifecycle Buildpacks entries must be between 1 and 4096 characters",
  ],
  [
    createAppBody,
    app({ metadata: { labels: { "a b": "c" } } }),
    "Metadata label key error: 'a b' contains invalid characters",
  ],
  [
    createAppBody,
    app({ metadata: { labels: { a: [] }, annotations: { b: { c: 1 } } } }),
    "Metadata label value error: '[]' contains invalid characters, Metadata annotation value error: '{\"c\":1}' contains invalid characters",
  ],
  [createAppBody, app({ metadata: { labels: "x" } }), "Metadata 'labels' is not an object"],
  [createAppBody, app({ metadata: { annotations: [] } }), "Metadata 'annotations' is not an object"],
  [createAppBody, app({ metadata: { a: 1, b: 2 } }), "Metadata has unexpected field(s): 'a' 'b'"],
  [
    createAppBody,
    app({ metadata: { labels: { "-a": "b-" } } }),
    "Metadata label key error: '-a' starts or ends with invalid characters, Metadata label value error: 'b-' starts or ends with invalid characters",
  ],
  [
    createAppBody,
    app({ metadata: { labels: { [`${"p".repeat(60)}.`.repeat(5) + "q/n"]: "v".repeat(64) } } }),
    "Metadata label key error: prefix 'pppppppp...' is greater than 253 characters, Metadata label value error: 'vvvvvvvv...' is greater than 63 characters",
  ],
  [
    createAppBody,
    app({ metadata: { annotations: { a: "v".repeat(5001) } } }),
    "Metadata annotation value error: 'vvvvvvvv...' is greater than 5000 characters",
  ],
  [updateRouteBody, { options: { foobar: 1 } }, "Options Unknown field(s): 'foobar'"],
  [updateRouteBody, { options: null }, "Options 'options' is not a valid object"],
  [setVariablesBody, { var: { N: 1 } }, "Non-string value in environment variable for key 'N', value '1'"],
  [
    setVariablesBody,
    { var: { N: { a: [] } } },
    `Non-string value in environment variable for key 'N', value '{"a":[]}'`,
  ],
  [setVariablesBody, { var: { VCAP_X: "1" } }, "Var cannot start with VCAP_"],
  [setVariablesBody, { var: { port: "1" } }, "Var cannot set PORT"],
  [setVariablesBody, { var: [] }, "Var must be an object"],
  [currentDropletBody, { data: { guid: 5 } }, "Guid must be a string"],
  [updateProcessBody, { command: "" }, "Command must be between 1 and 4096 characters"],
  [updateProcessBody, { user: "" }, "User must be between 1 and 255 characters"],
  [updateProcessBody, { health_check: { type: "x" } }, 'Health check type must be "port", "process", or "http"'],
  [updateProcessBody, { health_check: { data: { endpoint: "x" } } }, "Health check endpoint must be a valid URI path"],
  [updateProcessBody, { health_check: { data: { endpoint: "" } } }, "Health check endpoint must be a valid URI path"],
  [
    updateProcessBody,
    { health_check: { data: { timeout: 0 } } },
    "Health check timeout must be greater than or equal to 1",
  ],
  [
    updateProcessBody,
    { readiness_health_check: { data: { interval: 0 } } },
    "Readiness health check interval must be greater than or equal to 1",
  ],
  [createPackageBody, { type: "x", relationships: {} }, "Type must be one of 'bits, docker'"],
  [
    insertDestinationsBody,
    { destinations: [{ app: { guid: 5 } }, {}, 3, { app: { guid: "a" }, protocol: 1 }] },
    `Destinations[0]: app must have the structure {"guid": "app_guid"}, Destinations[1]: must have an "app"., Destinations[2]: must be an object., Destinations[3]: protocol must be 'http1', 'http2' or 'tcp'.`,
  ],
  [
    insertDestinationsBody,
    { destinations: [] },
    "Destinations must be an array containing between 1 and 100 destination objects.",
  ],
])("body %#: %j", (schema, body, detail) => {
  expect(detailOf(() => parseBody(schema, body))).toBe(detail);
});

test.each<[Record<string, string>, string]>([
  [{ created_ats: "yesterday" }, "Created ats has an invalid timestamp format."],
  [{ "created_ats[lt]": "yesterday" }, "Created ats has an invalid timestamp format."],
  [{ "created_ats[ne]": "2020-01-01T00:00:00Z" }, "Created ats Invalid relational operator: 'ne'"],
  [
    { "updated_ats[gt]": "2020-01-01T00:00:00Z,2021-01-01T00:00:00Z" },
    "Updated ats only accepts one value when using a relational operator",
  ],
  [{ page: "0" }, "Page must be a positive integer"],
])("query %j", (query, detail) => {
  const text = detailOf(() => parseQuery(listQuery({}), query, "BadQueryParameter"));
  expect(text).toContain(`The query parameter is invalid: ${detail}`);
});

test("numbers and booleans in metadata are taken for their text, null stays", () => {
  const metadata = { labels: { version: 1.5, live: true, gone: null }, annotations: { count: 3 } };
  expect(parseBody(createAppBody, app({ metadata }))).toMatchObject({
    metadata: { labels: { version: "1.5", live: "true", gone: null }, annotations: { count: "3" } },
  });
});
