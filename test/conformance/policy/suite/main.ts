// `npm run policy:suite -- FOLDER [--kube-apiserver]`: tests of Gatekeeper's templates with CEL, judged by our evaluator, and compiled by a real kube-apiserver. Prints a table of suites; exit code 1 when an assertion fails.
import { Command } from "commander";
import { judgeSuites } from "./judge-suites.ts";
import { readSuites } from "./read-suites.ts";

const command = new Command("policy:suite")
  .description("Judges the tests of a library of Gatekeeper templates, such as gatekeeper-library/library.")
  .argument("<folder>", "holds suite.yaml files with their templates, constraints and samples")
  .option("--kube-apiserver", "compare each verdict with the compiled policy on a real kube-apiserver")
  .parse();
const [folder = ""] = command.args;
const suites = readSuites(folder);
if (suites.length === 0) command.error(`no suite.yaml below ${folder} tests a template with CEL`);

const { rows, faults, compared } = await judgeSuites(suites, command.opts<{ kubeApiserver?: boolean }>());
const total = rows.reduce(
  (sum, row) => ({
    suite: "total",
    tests: sum.tests + row.tests,
    assertions: sum.assertions + row.assertions,
    passed: sum.passed + row.passed,
  }),
  { suite: "total", tests: 0, assertions: 0, passed: 0 },
);
const width = Math.max(...rows.map(({ suite }) => suite.length));
const print = (suite: string, ...cells: (string | number)[]): void =>
  console.log([suite.padEnd(width), ...cells.map((cell) => String(cell).padStart(10))].join(" "));
print("suite", "tests", "assertions", "passed");
for (const { suite, tests, assertions, passed } of [...rows, total]) print(suite, tests, assertions, passed);
if (compared > 0) console.log(`${compared} verdicts were compared with kube-apiserver's`);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
