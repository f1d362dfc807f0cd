// The class `process` under the suite of runners.
import { processClass } from "../../../backends/runners/process/process.ts";
import { startProcessEnvironment } from "./process-environment.ts";
import { runnerTests } from "./suite.ts";

runnerTests({ name: processClass, start: () => startProcessEnvironment(processClass, "runner") });
