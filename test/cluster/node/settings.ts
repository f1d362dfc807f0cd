// Texts of a node's configuration files, pure: containerd, CNI, kubelet, kube-proxy, the registry, CoreDNS.
import { stringify } from "yaml";
import { POD_NETWORK, type NodeAddress } from "./network.ts";

/** Where a node's programs find each other. */
export interface NodeSettings {
  /** "node1". */
  name: string;
  dir: string;
  address: NodeAddress;
  /** Root of the unpacked packages. */
  packages: string;
  /** `host:port` of the registry, which speaks plain http. */
  registry: string;
  /** Cgroup of this node's pods, without a leading slash. */
  cgroup: string;
}

export const CONTAINERD_SOCKET = "/run/containerd/containerd.sock";
export const CLUSTER_DNS = "10.96.0.10";
/** The image of pods' sandboxes and of the cluster's own pods: a static busybox, nothing else. */
export const BASE_IMAGE = "cupola.test/busybox:1";

export function containerdConfig({ dir, packages }: NodeSettings): string {
  return `version = 2
root = "${dir}/containerd"
state = "/run/containerd"
# Without CAP_SYS_RESOURCE no process may protect itself from the OOM killer, and runc fails with "can't get final child's PID".
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "${CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${BASE_IMAGE}"
  disable_apparmor = true
  enable_selinux = false
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${packages}/usr/lib/cni"
    conf_dir = "${dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${dir}/certs.d"
`;
}

/** Each pod has a wire of its own, so that every packet of a pod is routed: Services and policies see it without a bridge's help. */
export function cniConfig({ address }: NodeSettings): string {
  const ipam = {
    type: "host-local",
    dataDir: "/run/cni-ipam",
    ranges: [[{ subnet: address.pods }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  return JSON.stringify({ cniVersion: "0.4.0", name: "pods", plugins: [{ type: "ptp", ipMasq: false, ipam }] });
}

export function registryHosts(registry: string): string {
  return `server = "http://${registry}"\n[host."http://${registry}"]\n  capabilities = ["pull", "resolve"]\n`;
}

export function kubeletConfig({ dir, cgroup }: NodeSettings): string {
  return stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    failCgroupV1: false,
    // As the API server has it: a kubelet without it answers 400 to a read of one stream.
    featureGates: { PodLogsQuerySplitStreams: true },
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroup}`,
    cgroupsPerQOS: true,
    enforceNodeAllocatable: ["pods"],
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    address: "0.0.0.0",
    readOnlyPort: 0,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${dir}/../ca.crt` },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: `${dir}/kubelet.crt`,
    tlsPrivateKeyFile: `${dir}/kubelet.key`,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    resolvConf: `${dir}/resolv.conf`,
    clusterDomain: "cluster.local",
    clusterDNS: [CLUSTER_DNS],
    podLogsDir: "/var/log/pods",
    syncFrequency: "10s",
    nodeStatusUpdateFrequency: "4s",
    nodeLeaseDurationSeconds: 16,
    // Disk of the machine is not the node's to free.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi" },
    serializeImagePulls: false,
    maxPods: 200,
  });
}

export function kubeProxyConfig({ name, dir, address }: NodeSettings): string {
  return stringify({
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    hostnameOverride: name,
    clusterCIDR: POD_NETWORK,
    clientConnection: { kubeconfig: `${dir}/kube-proxy.kubeconfig` },
    // Zero leaves the machine's own settings alone.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    nftables: { minSyncPeriod: "100ms", syncPeriod: "30s" },
    nodePortAddresses: [`${address.node}/32`],
    metricsBindAddress: "127.0.0.1:10249",
  });
}

/** Where CoreDNS asks for internal names of Cupola, once that is installed. */
export const INTERNAL_DNS = "10.96.0.53";

/** Several server blocks: `template` and `kubernetes` in one would answer NXDOMAIN to everything. */
export const COREFILE = `cluster.local:53 in-addr.arpa:53 {
  errors
  ready :8181
  kubernetes cluster.local in-addr.arpa {
    pods insecure
    ttl 2
  }
  cache 2
}
apps.internal:53 {
  errors
  forward . ${INTERNAL_DNS}
}
.:53 {
  template ANY ANY . {
    rcode NXDOMAIN
  }
}
`;
