// The Pod of a rebase: the lifecycle puts another run image below the layers of the app's last image. No code of buildpacks or apps runs in it. Pure.
import type { Draft } from "../../../../kube/client/client.ts";
import type { BuildImages } from "../../build-images.ts";
import { toRebasePodName } from "../build-paths.ts";
import { planAuth, planFrame, planLifecycleEnv, REPORT, type PodFrame } from "../pod-frame.ts";
import type { RebasePlan } from "./rebase-decision.ts";

/** Containers of the Pod, in order. */
export const REBASE_STEPS = ["announce", "rebase"] as const;

export interface RebasePod extends PodFrame {
  /** The builder image by digest, which has the lifecycle. */
  builderImage: string;
  platformImage: string;
  runImage: string;
  images: BuildImages;
  rebase: RebasePlan;
}

export function planRebasePod(build: RebasePod): Draft {
  const { staging, builderImage, platformImage, runImage, images, rebase } = build;
  const containers = [
    {
      name: REBASE_STEPS[0],
      image: platformImage,
      args: ["say", `Only the run image changed since the app's last build: its layers move to ${runImage} unchanged.`],
      env: [],
      mounts: [],
      showsFailure: true,
    },
    {
      name: REBASE_STEPS[1],
      image: builderImage,
      command: ["/cnb/lifecycle/rebaser"],
      args: [
        `-previous-image=${rebase.previousImage}`,
        `-run-image=${runImage}`,
        ...(rebase.force ? ["-force"] : []),
        `-report=${REPORT}`,
        images.image,
        images.latest,
      ],
      env: [...planLifecycleEnv(build), ...planAuth(build)],
      mounts: [],
      showsFailure: true,
    },
  ];
  return planFrame(build, toRebasePodName(staging), { containers, volumes: [] });
}
