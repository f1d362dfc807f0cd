// The error of a start or build that may succeed later, with the problem as the platform's wording knows it, and the words for any failed start.
import { cutDetails } from "../../crds/details.ts";
import { describeProblem, type InstanceProblem } from "../../crds/lrp/instance-problem.ts";
import { LaunchRefused } from "./launch-refused.ts";

/** The message is for the app's owner and names the next step. */
export class StartFailed extends Error {
  readonly problem: InstanceProblem;

  constructor(problem: InstanceProblem) {
    super(describeProblem(problem));
    this.name = "StartFailed";
    this.problem = problem;
  }
}

/** Text for the status and the log of an instance about an error of its start. */
export function describeStartError(error: Error): string {
  if (error instanceof StartFailed) return describeProblem(error.problem);
  // A refusal names its own next step.
  if (error instanceof LaunchRefused) return cutDetails(`The instance cannot be started: ${error.message}`);
  return describeProblem({ kind: "cannotStart", why: error.message });
}
