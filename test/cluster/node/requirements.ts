// Needs of a node: Linux, root, programs that Debian packages and Go modules give.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { providePackages, whyNoPackages } from "../../../scripts/image/debian-packages.ts";
import { provideBinaries, provideBinary, whyNoBinaries, type Binaries } from "../binaries.ts";

/** Absolute paths. */
export type NodeBinaries = Binaries & Record<(typeof NODE_BINARIES)[number], string>;

export interface NodePrograms {
  binaries: NodeBinaries;
  /** Unpacked Debian packages: containerd, runc, CNI plugins, docker-registry, nft, busybox. */
  packages: string;
}

const NODE_BINARIES = ["kube-scheduler", "kube-proxy", "kubelet", "coredns"] as const;
const CONTROL_PLANE_BINARIES = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] as const;
// By name, with the libraries that a small Debian lacks.
const PACKAGES = [
  "containerd",
  "runc",
  "containernetworking-plugins",
  "docker-registry",
  "busybox-static",
  "nftables",
  "libnftables1",
  "libnftnl11",
  "libmnl0",
  "libjansson4",
  "libxtables12",
  "libgmp10",
  "libedit2",
  "libbsd0",
  "libmd0",
  "libseccomp2",
];
const MACHINE_PROGRAMS = ["unshare", "nsenter", "setpriv", "mount", "ip"];

/** Why this machine cannot run a node, in a sentence without its full stop, or undefined when it can (perhaps after builds of some minutes). */
export function whyNoNode(): string | undefined {
  if (process.env["CUPOLA_TEST_CLUSTER"] === "1")
    return "CUPOLA_TEST_CLUSTER gives a cluster, and this needs one of its own";
  if (process.platform !== "linux") return "a node needs Linux";
  if (process.getuid?.() !== 0) return "a node needs root, for namespaces, mounts and cgroups";
  if (!existsSync("/sys/fs/cgroup/memory"))
    return "a node was tried with cgroup v1 only, and this machine has version 2";
  const absent = MACHINE_PROGRAMS.find((program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error);
  if (absent) return `there is no ${absent}`;
  const { status } = spawnSync("unshare", ["--net", "--mount", "--pid", "--fork", "true"], { stdio: "ignore" });
  if (status !== 0) return "this machine lets nobody make namespaces";
  return whyNoPackages(PACKAGES) ?? whyNoBinaries([...CONTROL_PLANE_BINARIES, ...NODE_BINARIES]);
}

/** Finds or makes everything: the first time takes some ten minutes, with an empty cache of Go. */
export async function provideNodePrograms(log?: (line: string) => void): Promise<NodePrograms> {
  const reason = whyNoNode();
  if (reason) throw new Error(`no node: ${reason}`);
  const packages = providePackages(PACKAGES);
  const binaries = { ...(await provideBinaries(log)) } as NodeBinaries;
  for (const name of NODE_BINARIES) binaries[name] = await provideBinary(name, log);
  return { binaries, packages: (await packages).root };
}
