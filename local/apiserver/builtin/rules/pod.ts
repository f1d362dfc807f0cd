// The template of pods: containers, volumes, and what names something else. Resources, security contexts, scheduling and the rest are not judged: nothing here runs pods.
import type { JsonMap } from "../../apply/values.ts";
import type { FieldError } from "../../types.ts";
import { forbiddenField, notSupported, required } from "../../field-errors.ts";
import { labelName, qualifiedName, subdomainName } from "../../registry/names.ts";
import { containerRules, type Surroundings } from "./container.ts";
import { labelRules, listOf, mapOf, named, textOf, uniqueName } from "./rule.ts";

const RESTART_POLICIES = ["Always", "OnFailure", "Never"];
const DNS_POLICIES = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
/** In the order in which a second one is found out. */
const SOURCES = [
  "emptyDir",
  "hostPath",
  "secret",
  "nfs",
  "persistentVolumeClaim",
  "downwardAPI",
  "configMap",
  "projected",
  "csi",
  "ephemeral",
  "image",
];
const ONLY_OF_SIDECARS = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];

/** Faults of the template of a Deployment, found at `at`. */
export function templateRules(template: JsonMap, at: string): FieldError[] {
  const metadata = mapOf(template.metadata);
  const spec = mapOf(template.spec);
  const annotations = Object.keys(mapOf(metadata.annotations)).flatMap((key) =>
    named(`${at}.annotations`, key, qualifiedName(key.toLowerCase())),
  );
  return [
    ...labelRules(metadata.labels, `${at}.labels`),
    ...annotations,
    ...podRules(spec, `${at}.spec`),
    ...alwaysRunning(spec, `${at}.spec`),
  ];
}

/** Kinds whose pods are replaced when they end. */
function alwaysRunning({ restartPolicy, activeDeadlineSeconds }: JsonMap, at: string): FieldError[] {
  return [
    ...(restartPolicy === "Always" ? [] : [notSupported(`${at}.restartPolicy`, restartPolicy ?? "", ["Always"])]),
    ...(activeDeadlineSeconds === undefined
      ? []
      : [forbiddenField(`${at}.activeDeadlineSeconds`, "activeDeadlineSeconds in ReplicaSet is not Supported")]),
  ];
}

function podRules(spec: JsonMap, at: string): FieldError[] {
  const volumes = volumeRules(listOf(spec.volumes), `${at}.volumes`);
  const around: Surroundings = { names: new Set(), volumes: volumes.names };
  const containers = listOf(spec.containers);
  return [
    ...volumes.faults,
    ...(containers.length === 0 ? [required(`${at}.containers`)] : []),
    ...containers.flatMap((container, index) => containerRules(container, `${at}.containers[${index}]`, around)),
    ...listOf(spec.initContainers).flatMap((container, index) =>
      initRules(container, `${at}.initContainers[${index}]`, around),
    ),
    ...(RESTART_POLICIES.includes(textOf(spec.restartPolicy))
      ? []
      : [notSupported(`${at}.restartPolicy`, spec.restartPolicy ?? "", RESTART_POLICIES)]),
    ...(DNS_POLICIES.includes(textOf(spec.dnsPolicy))
      ? []
      : [notSupported(`${at}.dnsPolicy`, spec.dnsPolicy ?? "", DNS_POLICIES)]),
    ...labelRules(spec.nodeSelector, `${at}.nodeSelector`),
    ...(spec.serviceAccountName
      ? named(
          `${at}.serviceAccountName`,
          spec.serviceAccountName,
          subdomainName(textOf(spec.serviceAccountName), false),
        )
      : []),
  ];
}

/** Init containers end, so they have no probes; sidecars among them are checked like other containers. */
function initRules(container: JsonMap, at: string, around: Surroundings): FieldError[] {
  if (container.restartPolicy === "Always") return containerRules(container, at, around);
  const plain = Object.fromEntries(Object.entries(container).filter(([field]) => !ONLY_OF_SIDECARS.includes(field)));
  const refused = ONLY_OF_SIDECARS.filter((field) => container[field] !== undefined).map((field) =>
    forbiddenField(`${at}.${field}`, "may not be set for init containers without restartPolicy=Always"),
  );
  return [...containerRules(plain, at, around), ...refused];
}

/** Names of the volumes that are good, which mounts may name. */
function volumeRules(volumes: JsonMap[], at: string): { faults: FieldError[]; names: Set<string> } {
  const taken = new Set<string>();
  const names = new Set<string>();
  const faults = volumes.flatMap((volume, index) => {
    const name = textOf(volume.name);
    const found = [
      ...sourceRules(volume, `${at}[${index}]`),
      ...uniqueName(`${at}[${index}].name`, name, { form: (each) => labelName(each, false), taken }),
    ];
    if (found.length === 0) names.add(name);
    return found;
  });
  return { faults, names };
}

function sourceRules(volume: JsonMap, at: string): FieldError[] {
  const [first, ...others] = SOURCES.filter((source) => volume[source] !== undefined);
  const refused = others.map((source) => forbiddenField(`${at}.${source}`, "may not specify more than 1 volume type"));
  if (first === "secret" && !mapOf(volume.secret).secretName) refused.push(required(`${at}.secret.secretName`));
  if (first === "configMap" && !mapOf(volume.configMap).name) refused.push(required(`${at}.configMap.name`));
  return refused;
}
