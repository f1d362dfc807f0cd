// Admission policies on images: below the platform's part of a registry, a space uses its own images only.
import { EXCEPT_PLATFORM, toPolicyResource, type AdmissionPolicy } from "./admission-policy.ts";
import { Droplet } from "./droplet/droplet.ts";
import { SYSTEM_NAMESPACE } from "./groups.ts";
import { INTERNAL_LABELS, STABLE_LABELS } from "./labels.ts";
import { LRP } from "./lrp/lrp.ts";
import { Package } from "./package/package.ts";
import { Staging } from "./staging/staging.ts";
import { TaskRun } from "./task-run/task-run.ts";

/** The ConfigMap in the system namespace with the registry prefix of the platform's images: `prefix`, without a trailing slash. */
const REGISTRY_CONFIG = "cupola-registry";

/** Pods are decisive. The kinds of ours that name an image are refused sooner, and in words that `cf push` shows. */
export function imagePolicies(): AdmissionPolicy[] {
  return [podImagePolicy(), ...OUR_IMAGES.map(([kind, path]) => ourImagePolicy(kind, path))];
}

/** Kinds with the path of their image. It is immutable in each, so that an update is none of ours. */
const OUR_IMAGES = [
  [Package, "object.spec.image"],
  [Droplet, "object.spec.image"],
  [LRP, "object.spec.droplet.image"],
  [TaskRun, "object.spec.droplet.image"],
  [Staging, "object.spec.package.image"],
] as const;

const PARAMS = { apiVersion: "v1", kind: "ConfigMap", name: REGISTRY_CONFIG, required: false };
const IN_SPACES = { key: INTERNAL_LABELS.namespaceKind, values: ["space"] };
const IS_OWN =
  "variables.prefix in ['', '/'] || variables.images.all(image, !image.startsWith(variables.prefix) || image.startsWith(variables.own))";

/** No pod of another space runs or mounts an image. */
function podImagePolicy(): AdmissionPolicy {
  const images = (list: string): string =>
    `(has(object.spec.${list}) ? object.spec.${list}.map(one, one.image.lowerAscii()) : [])`;
  const volumes =
    "(has(object.spec.volumes) ? object.spec.volumes.filter(one, has(one.image) && has(one.image.reference)).map(one, one.image.reference.lowerAscii()) : [])";
  return {
    name: "images.cupola.dev",
    namespaceLabel: IN_SPACES,
    resources: [
      { group: "", plural: "pods" },
      { group: "", plural: "pods/ephemeralcontainers" },
    ],
    operations: ["CREATE", "UPDATE"],
    // The platform's own patches leave the images as they are (pod-policies.ts), and every start waits for one.
    matchConditions: [
      {
        name: "not-a-patch-of-the-platform",
        expression: `request.operation != 'UPDATE' || has(request.subResource) || ${EXCEPT_PLATFORM.expression}`,
      },
    ],
    params: PARAMS,
    variables: imageVariables(
      [...["containers", "initContainers", "ephemeralContainers"].map(images), volumes].join(" + "),
    ),
    validations: [
      {
        expression: IS_OWN,
        message: `this image belongs to another space: below the platform's registry prefix (ConfigMap ${SYSTEM_NAMESPACE}/${REGISTRY_CONFIG}) a space may run only its own images`,
        reason: "Forbidden",
      },
    ],
  };
}

function ourImagePolicy(kind: (typeof OUR_IMAGES)[number][0], path: string): AdmissionPolicy {
  return {
    name: `images-of-${kind.plural}.cupola.dev`,
    namespaceLabel: IN_SPACES,
    resources: [toPolicyResource(kind)],
    operations: ["CREATE"],
    params: PARAMS,
    variables: imageVariables(`has(${path}) ? [${path}.lowerAscii()] : []`),
    validations: [
      {
        expression: IS_OWN,
        message: "this image belongs to another space of this platform: push your own copy, or name an image elsewhere",
        reason: "Invalid",
      },
    ],
  };
}

/**
 * CEL variables: the platform's registry prefix, the space's own prefix, and `images`, a list of names in lower case. Names are normalized before the
 * comparison: Docker Hub's host, the default port and capitals.
 */
function imageVariables(images: string): NonNullable<AdmissionPolicy["variables"]> {
  const first = "image.split('/')[0]";
  const withHost = `(image.contains('/') && (${first}.contains('.') || ${first}.contains(':') || ${first} == 'localhost') ? image : 'docker.io/' + image)`;
  const spelled = (text: string): string => `${text}.replace('index.docker.io/', 'docker.io/').replace(':443/', '/')`;
  return [
    {
      name: "prefix",
      expression: `has(params.data) && 'prefix' in params.data ? ${spelled("(params.data['prefix'].lowerAscii() + '/')")} : ''`,
    },
    {
      name: "own",
      expression: `variables.prefix + namespaceObject.metadata.labels['${STABLE_LABELS.space}'].lowerAscii() + '/'`,
    },
    { name: "images", expression: `(${images}).map(image, ${spelled(withHost)})` },
  ];
}
