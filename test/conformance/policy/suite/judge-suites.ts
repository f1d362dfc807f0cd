// Judges suites by our evaluator, and on wish by kube-apiserver: there each test's constraint warns, so that all violations are told.
import { evaluate } from "../../../../crds/policy-template/evaluate.ts";
import { judgeOurselves, type Seen } from "../policy-world.ts";
import { holds, type Suite, type SuiteCase, type SuiteTest } from "./read-suites.ts";
import { startSuiteWorld, type SuiteWorld } from "./suite-world.ts";

export interface SuiteRow {
  suite: string;
  tests: number;
  assertions: number;
  passed: number;
}

export interface SuiteResult {
  rows: SuiteRow[];
  /** Sentences about assertions that fail and verdicts that differ. */
  faults: string[];
  /** Verdicts that were compared with kube-apiserver's. */
  compared: number;
}

export async function judgeSuites(
  suites: readonly Suite[],
  { kubeApiserver = false }: { kubeApiserver?: boolean } = {},
): Promise<SuiteResult> {
  const world = kubeApiserver ? await startSuiteWorld(suites) : undefined;
  const result: SuiteResult = { rows: [], faults: [], compared: 0 };
  try {
    for (const suite of suites) await judgeSuite(suite, world, result);
    return result;
  } finally {
    await world?.stop();
  }
}

async function judgeSuite({ name, tests }: Suite, world: SuiteWorld | undefined, result: SuiteResult): Promise<void> {
  const row: SuiteRow = { suite: name, tests: tests.length, assertions: 0, passed: 0 };
  result.rows.push(row);
  for (const test of tests) {
    for (const one of test.cases) result.faults.push(...judgeCase(test, one, row));
    if (!world) continue;
    result.faults.push(...(await compareTest(test, world, name)));
    result.compared += test.cases.length;
  }
}

/** Counts the assertions, and tells those that fail. */
function judgeCase({ name, constraint }: SuiteTest, one: SuiteCase, row: SuiteRow): string[] {
  const messages = messagesOf(constraint, one);
  const failed = one.assertions.filter((assertion) => !holds(assertion, messages));
  row.assertions += one.assertions.length;
  row.passed += one.assertions.length - failed.length;
  return failed.map(
    (assertion) =>
      `${row.suite} ${name} ${one.name}: wanted ${JSON.stringify(assertion)}, got ${JSON.stringify(messages)}`,
  );
}

function messagesOf(constraint: SuiteTest["constraint"], { write }: SuiteCase): string[] {
  const { violations } = evaluate([constraint], {
    ...write,
    point: "write",
    operation: write.oldObject ? "UPDATE" : "CREATE",
    namespaceLabels: {},
  });
  return violations.map(({ message }) => message);
}

/** Differences between our verdict and kube-apiserver's, message for message. */
async function compareTest(
  { name, constraint, cases }: SuiteTest,
  world: SuiteWorld,
  suite: string,
): Promise<string[]> {
  await world.enforce(constraint);
  const faults: string[] = [];
  for (const one of cases) {
    const ours = judgeOurselves([constraint], one.write, {});
    const seen: Seen | string = await world.judge(one.write).catch((error: unknown) => String(error));
    if (JSON.stringify(seen) !== JSON.stringify(ours))
      faults.push(
        `${suite} ${name} ${one.name}: kube-apiserver says ${JSON.stringify(seen)}, we say ${JSON.stringify(ours)}`,
      );
  }
  return faults;
}
