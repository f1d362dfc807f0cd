// Checks 101 to 103: the Kubernetes below Cupola.
import { count, nameFirst, type Check, type Found } from "../finding.ts";
import type { Readings } from "../facts.ts";

const LEAST_MINOR = 30;
const MAX_CLOCK_DIFFERENCE_MS = 5_000;

const version: Check = {
  code: 101,
  title: "Kubernetes is new enough, and you may install",
  severity: "problem",
  isBeforeInstallation: true,
  fault: `Kubernetes is older than 1.${LEAST_MINOR}, or does not serve ValidatingAdmissionPolicy. With \`--pre\` also: you lack a right that an installation needs.`,
  mend: "Upgrade the cluster. For a right: ask an administrator of the cluster for it, or install as another user.",
  judge: (read) => [...judgeVersion(read), ...judgeRights(read)],
};

function judgeVersion(read: Readings): Found[] {
  const { gitVersion, major, minor } = read.kubernetes();
  if (major === 1 && minor < LEAST_MINOR)
    return [
      { what: `Kubernetes is ${gitVersion}; Cupola needs 1.${LEAST_MINOR} or later`, next: "upgrade the cluster" },
    ];
  if (!read.admissionResources().includes("validatingadmissionpolicies"))
    return [
      {
        what: "admissionregistration.k8s.io/v1 has no ValidatingAdmissionPolicy",
        next: "remove the flag of kube-apiserver that turns it off",
      },
    ];
  return [];
}

function judgeRights(read: Readings): Found[] {
  const missing = read.missingRights();
  if (missing.length === 0) return [];
  return [
    {
      what: `You lack ${count(missing.length, "right")} that an installation needs`,
      where: nameFirst(missing),
      next: "ask an administrator of the cluster for them, or install as another user",
    },
  ];
}

const surroundings: Check = {
  code: 102,
  title: "clocks agree, and routers have their ingress controller",
  severity: "problem",
  isBeforeInstallation: true,
  fault:
    "The clocks of kube-apiserver and of this machine differ by more than 5 s; or the router class `ingress` names no IngressClass and the cluster has no default one, or names one that does not exist; or the Gateway of the router class `gateway` is absent or not Programmed.",
  mend: "Synchronise the clocks. Set `routers.ingress.className`, or mark an IngressClass as the default. For a Gateway: `kubectl describe gateway -n NAMESPACE NAME`.",
  judge: (read) => [...judgeClocks(read), ...judgeIngressClass(read), ...judgeGateways(read)],
};

function judgeClocks(read: Readings): Found[] {
  const seconds = Math.round(Math.abs(read.clockAheadMs()) / 1000);
  if (Math.abs(read.clockAheadMs()) <= MAX_CLOCK_DIFFERENCE_MS) return [];
  return [
    { what: `the clocks of kube-apiserver and of this machine differ by ${seconds} s`, next: "synchronise them" },
  ];
}

const DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class";

function judgeIngressClass(read: Readings): Found[] {
  const router = read.classes().find(({ metadata }) => metadata.name === "ingress");
  if (!router && !read.isBeforeInstallation()) return [];
  const classes = read.ingressClasses();
  const named = router?.spec.parameters?.["ingressClassName"];
  if (named !== undefined) {
    if (classes.some(({ metadata }) => metadata.name === named)) return [];
    return [
      {
        what: `IngressClass ${named} does not exist`,
        where: ["BackendClass ingress"],
        next: "install its ingress controller, or set routers.ingress.className",
      },
    ];
  }
  if (classes.some(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === "true")) return [];
  return [
    {
      what: "no IngressClass is the default",
      where: nameFirst(classes.map(({ metadata }) => `IngressClass ${metadata.name}`)),
      next: "set routers.ingress.className",
    },
  ];
}

function judgeGateways(read: Readings): Found[] {
  return read.gateways().flatMap(({ namespace, name, problem }): Found[] =>
    problem === undefined
      ? []
      : [
          {
            what: `Gateway ${name} ${problem}`,
            where: [`Gateway ${namespace}/${name}`],
            next: `kubectl describe gateway -n ${namespace} ${name}`,
          },
        ],
  );
}

const metrics: Check = {
  code: 103,
  title: "metrics of pods are there",
  severity: "note",
  isBeforeInstallation: true,
  fault:
    "The API `metrics.k8s.io` is absent or not available: `cf app` shows no CPU and memory of instances, and check 601 knows only of containers that were killed.",
  mend: "Install metrics-server.",
  judge(read) {
    const problem = read.metricsProblem();
    if (problem === undefined) return [];
    return [
      {
        what: `CPU and memory of instances are unknown: metrics.k8s.io ${problem}`,
        where: ["APIService v1beta1.metrics.k8s.io"],
        next: "install metrics-server",
      },
    ];
  },
};

export const kubernetesChecks: readonly Check[] = [version, surroundings, metrics];
