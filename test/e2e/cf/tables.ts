// Every table of cases: docs/cf-commands.md is made of them.
import { APP_CASES } from "./apps.cases.ts";
import { BUILDPACK_CASES } from "./buildpacks.cases.ts";
import { CONFIG_CASES } from "./config.cases.ts";
import { DEPLOYMENT_CASES } from "./deployments.cases.ts";
import { LOG_CASES } from "./logs.cases.ts";
import { MANIFEST_CASES } from "./manifests.cases.ts";
import { METADATA_CASES } from "./metadata.cases.ts";
import { PACKAGE_CASES } from "./packages.cases.ts";
import { PUSH_CASES } from "./push.cases.ts";
import { TASK_CASES } from "./tasks.cases.ts";
import type { CommandCases } from "./support/case.ts";

/** By file, without `.cases.ts`. */
export const TABLES: Record<string, readonly CommandCases[]> = {
  apps: APP_CASES,
  push: PUSH_CASES,
  manifests: MANIFEST_CASES,
  deployments: DEPLOYMENT_CASES,
  tasks: TASK_CASES,
  packages: PACKAGE_CASES,
  config: CONFIG_CASES,
  metadata: METADATA_CASES,
  buildpacks: BUILDPACK_CASES,
  logs: LOG_CASES,
};
