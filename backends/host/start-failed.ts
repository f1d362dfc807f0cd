// The error of a start or build that may succeed later, with the problem as the platform's wording knows it.
import { describeProblem, type InstanceProblem } from "../../crds/lrp/instance-problem.ts";

/** The message is for the app's owner and names the next step. */
export class StartFailed extends Error {
  readonly problem: InstanceProblem;

  constructor(problem: InstanceProblem) {
    super(describeProblem(problem));
    this.name = "StartFailed";
    this.problem = problem;
  }
}
