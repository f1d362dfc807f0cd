// Runs packages.cases.ts.
import { PACKAGE_CASES } from "./packages.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("packages", PACKAGE_CASES);
