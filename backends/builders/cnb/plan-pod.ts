// The Pod of one build: each phase of the lifecycle is a container, in the specification's order. Pure.
// A phase gets credentials, or runs code of buildpacks and apps, never both. What those could change decides nothing for a phase with
// credentials: the analysis (run image, previous image) is in a volume that detect and build cannot write.
import type { Draft } from "../../../kube/client/client.ts";
import type { BuildImages } from "../build-images.ts";
import { toEnvSecretName, toPodName, toRegistrySecretName } from "./build-paths.ts";
import type { BuilderImage } from "./builder-image.ts";
import { DOCKER_CONFIG_KEY, INPUTS_FILE, toEnvFiles, toOrderFile } from "./plan-secrets.ts";
import { planAuth, planFrame, planLifecycleEnv, REPORT, type PodFrame } from "./pod-frame.ts";

/** Containers of the Pod, in order; the last one is the main container. */
export const PHASES = ["fetch", "analyze", "detect", "restore", "build", "export"] as const;
export type Phase = (typeof PHASES)[number];

export interface BuildPod extends PodFrame {
  builder: BuilderImage;
  /** The builder image by digest. */
  builderImage: string;
  platformImage: string;
  runImage: string;
  images: BuildImages;
  /** Digest of the package's content. */
  content: string;
  /** `host[:port]/path` of the blobs. */
  registryPrefix: string;
  /** Which order the detector goes by: the image's own, another one of the image's buildpacks, or one with buildpacks that the first container brings. */
  order: "image" | "chosen" | "brought";
}

interface Mount {
  name: string;
  mountPath: string;
  readOnly?: true;
}

const WORKSPACE: Mount = { name: "workspace", mountPath: "/workspace" };
const LAYERS: Mount = { name: "layers", mountPath: "/layers" };
const PLATFORM: Mount = { name: "platform", mountPath: "/platform", readOnly: true };
const ORDER: Mount = { name: "order", mountPath: "/cupola/order", readOnly: true };
const BUILDPACKS: Mount = { name: "buildpacks", mountPath: "/cupola/buildpacks" };
const ANALYSIS: Mount = { name: "analysis", mountPath: "/cupola/analysis" };
/** Sources of the build, which the exporter writes into the image's labels. */
const INPUTS: Mount = { name: "inputs", mountPath: "/cupola/inputs", readOnly: true };
const CREDENTIALS: Mount = { name: "credentials", mountPath: "/cupola/credentials", readOnly: true };
const readOnly = (mount: Mount): Mount => ({ ...mount, readOnly: true });

const ANALYZED = `-analyzed=${ANALYSIS.mountPath}/analyzed.toml`;

export function planPod(build: BuildPod): Draft {
  const containers = PHASES.map((phase) => ({
    name: phase,
    ...planPhase(build, phase),
    // A phase that fails has its last lines in the Pod's status. Not where an app's code speaks: its lines are in the log alone.
    showsFailure: !runsForeignCode(phase),
  }));
  return planFrame(build, toPodName(build.staging), { containers, volumes: planVolumes(build) });
}

function planVolumes({ staging, hasCredentials, order }: BuildPod): object[] {
  const envSecret = toEnvSecretName(staging);
  const files = toEnvFiles(staging.spec.env).map(({ key, path }) => ({ key, path }));
  return [
    ...[WORKSPACE, LAYERS, ANALYSIS].map(({ name }) => ({ name, emptyDir: {} })),
    // Without items a Secret volume would hold every key.
    files.length > 0
      ? { name: PLATFORM.name, secret: { secretName: envSecret, items: files } }
      : { name: PLATFORM.name, emptyDir: {} },
    ...(order === "image"
      ? []
      : [{ name: ORDER.name, secret: { secretName: envSecret, items: [toOrderFile(order)] } }]),
    ...(order === "brought" ? [{ name: BUILDPACKS.name, emptyDir: {} }] : []),
    { name: INPUTS.name, secret: { secretName: envSecret, items: [INPUTS_FILE] } },
    ...(hasCredentials
      ? [
          {
            name: CREDENTIALS.name,
            secret: {
              secretName: toRegistrySecretName(staging),
              items: [{ key: DOCKER_CONFIG_KEY, path: "config.json" }],
            },
          },
        ]
      : []),
  ];
}

interface PhasePlan {
  image: string;
  command?: string[];
  args: string[];
  env: object[];
  mounts: Mount[];
}

export function runsForeignCode(phase: Phase): boolean {
  return phase === "detect" || phase === "build";
}

function planPhase(build: BuildPod, phase: Phase): PhasePlan {
  if (phase === "fetch") return planFetch(build);
  const { args, mounts } = LIFECYCLE[phase](build);
  return {
    image: build.builderImage,
    command: [`/cnb/lifecycle/${EXECUTABLES[phase]}`],
    args,
    env: [...planLifecycleEnv(build), ...(runsForeignCode(phase) ? [] : planAuth(build))],
    mounts,
  };
}

const EXECUTABLES = {
  analyze: "analyzer",
  detect: "detector",
  restore: "restorer",
  build: "builder",
  export: "exporter",
} as const;

const LIFECYCLE: Readonly<Record<keyof typeof EXECUTABLES, (build: BuildPod) => { args: string[]; mounts: Mount[] }>> =
  {
    analyze: ({ images, runImage }) => ({
      args: [
        ANALYZED,
        `-run-image=${runImage}`,
        `-previous-image=${images.latest}`,
        `-cache-image=${images.cache}`,
        `-tag=${images.latest}`,
        images.image,
      ],
      mounts: [LAYERS, ANALYSIS],
    }),
    detect: (build) => ({
      args: [ANALYZED, ...planOrderArgs(build), ...planBuildpackArgs(build)],
      mounts: [LAYERS, WORKSPACE, PLATFORM, readOnly(ANALYSIS), ...planOrderMounts(build)],
    }),
    restore: ({ images }) => ({ args: [ANALYZED, `-cache-image=${images.cache}`], mounts: [LAYERS, ANALYSIS] }),
    build: (build) => ({
      args: [ANALYZED, ...planBuildpackArgs(build)],
      mounts: [
        LAYERS,
        WORKSPACE,
        PLATFORM,
        readOnly(ANALYSIS),
        ...(build.order === "brought" ? [readOnly(BUILDPACKS)] : []),
      ],
    }),
    export: ({ images }) => ({
      args: [
        ANALYZED,
        `-report=${REPORT}`,
        `-project-metadata=${INPUTS.mountPath}/${INPUTS_FILE.path}`,
        `-cache-image=${images.cache}`,
        images.image,
        images.latest,
      ],
      mounts: [LAYERS, WORKSPACE, ANALYSIS, INPUTS],
    }),
  };

function planOrderArgs({ order }: BuildPod): string[] {
  if (order === "image") return [];
  return [`-order=${order === "brought" ? BUILDPACKS.mountPath : ORDER.mountPath}/order.toml`];
}

function planOrderMounts({ order }: BuildPod): Mount[] {
  if (order === "image") return [];
  return [order === "brought" ? readOnly(BUILDPACKS) : ORDER];
}

function planBuildpackArgs({ order }: BuildPod): string[] {
  return order === "brought" ? [`-buildpacks=${BUILDPACKS.mountPath}`] : [];
}

/** Where the image has what Node made of the program's sources. */
export const COMPILE_CACHE_FOLDER = "/cupola/.compiled";

/** It holds for CPUs with the features of the machine that made the image. Without it the program runs as well, only later. */
const COMPILE_CACHE = [
  { name: "NODE_COMPILE_CACHE", value: COMPILE_CACHE_FOLDER },
  { name: "NODE_COMPILE_CACHE_PORTABLE", value: "1" },
];

/** The image's own entrypoint runs `cupola`. */
function planFetch(build: BuildPod): PhasePlan {
  const { staging, registryPrefix, insecureHosts, content, hasCredentials, order } = build;
  return {
    image: build.platformImage,
    args: [
      "fetch-package",
      `--registry=${registryPrefix}`,
      ...insecureHosts.map((host) => `--insecure-registry=${host}`),
      ...(hasCredentials ? [`--registry-credentials=${CREDENTIALS.mountPath}/config.json`] : []),
      `--space=${staging.spec.space.guid}`,
      `--digest=${content}`,
      `--max-mb=${staging.spec.diskMB}`,
      `--to=${WORKSPACE.mountPath}`,
      ...(order === "brought"
        ? [`--buildpacks=${ORDER.mountPath}/${toOrderFile(order).path}`, `--buildpacks-to=${BUILDPACKS.mountPath}`]
        : []),
    ],
    env: COMPILE_CACHE,
    mounts: [WORKSPACE, ...(hasCredentials ? [CREDENTIALS] : []), ...(order === "brought" ? [ORDER, BUILDPACKS] : [])],
  };
}
