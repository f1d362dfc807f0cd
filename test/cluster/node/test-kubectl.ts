// kubectl for tests on a node.
import { runProgram } from "./namespaces.ts";

/** Runs kubectl as the administrator and returns what it printed. Throws with its errors when it fails or takes a minute. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

export function kubectlOf({ kubectl, kubeconfig }: { kubectl: string; kubeconfig: string }): Kubectl {
  return (args, input) => runProgram([kubectl, `--kubeconfig=${kubeconfig}`, ...args], input);
}
