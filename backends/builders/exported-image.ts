// The droplet that an exported image is: its processes, buildpacks and stack from its labels. Pure.
import { z } from "zod";
import type { Staging } from "../../crds/staging/staging.ts";
import { toStartCommand } from "../host/droplet-metadata.ts";
import { StagingFailure } from "./staging-failure.ts";
import type { ImageConfig } from "./registry-images.ts";

type Artifact = NonNullable<NonNullable<Staging["status"]>["droplet"]>;

const buildMetadata = z.object({
  processes: z
    .array(
      z.object({
        type: z.string(),
        // A string before Platform API 0.10, a list since.
        command: z.union([z.string(), z.array(z.string())]),
        args: z
          .array(z.string())
          .nullish()
          .transform((args) => args ?? []),
        direct: z.boolean().default(true),
      }),
    )
    .nullish(),
  buildpacks: z.array(z.object({ id: z.string(), version: z.string().optional() })).nullish(),
});

const MAX_BUILDPACKS = 50;

/** `image` is the reference by digest. @throws StagingFailure when the labels are not those of an image that a lifecycle exported */
export function toDroplet(
  image: string,
  { labels }: Pick<ImageConfig, "labels">,
  pullSecret: string | undefined,
): Artifact {
  const metadata = parseMetadata(labels["io.buildpacks.build.metadata"]);
  const stack = labels["io.buildpacks.stack.id"] ?? labels["io.buildpacks.base.distro.name"];
  return {
    kind: "cnb",
    image,
    ...(pullSecret && { imagePullSecretRef: { name: pullSecret } }),
    processTypes: Object.fromEntries(
      (metadata.processes ?? []).map(({ type, command, args, direct }) => [
        type,
        toStartCommand({ type, command: [command].flat(), args, direct }),
      ]),
    ),
    ...(stack && { stack }),
    buildpacks: (metadata.buildpacks ?? []).slice(0, MAX_BUILDPACKS).map(({ id, version }) => ({
      name: id,
      ...(version && { version }),
      detectOutput: id.slice(id.lastIndexOf("/") + 1),
    })),
  };
}

function parseMetadata(text: string | undefined): z.output<typeof buildMetadata> {
  try {
    return buildMetadata.parse(JSON.parse(text ?? ""));
  } catch (cause) {
    throw new StagingFailure("StagingError", "the exported image has no readable label io.buildpacks.build.metadata", {
      cause,
    });
  }
}
