// Runs ssh.cases.ts.
import { SSH_CASES } from "./ssh.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("ssh", SSH_CASES);
