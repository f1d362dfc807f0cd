// Files that a workload finds in a folder: keys of a Secret, by path.
import { z } from "zod";
import { listMap } from "../kube/api/resource.ts";
import { MAX_FILES } from "./service-binding/binding-files.ts";
import { refTo } from "./schema-fields.ts";

export const mountedFiles = z
  .object({
    mountPath: z
      .string()
      .max(255)
      .regex(/^\/[a-z][a-z0-9/-]*$/)
      .describe(
        "The folder. Where a runner can mount nothing there, it chooses another, and names it in the variables.",
      ),
    secretRef: refTo("Secret"),
    items: listMap(
      z
        .array(
          z.object({
            key: z.string().min(1).max(253).describe("Key in the Secret."),
            path: z
              .string()
              .min(1)
              .max(511)
              .regex(/^\.?[a-z0-9_-][a-z0-9._-]*(\/\.?[a-z0-9_-][a-z0-9._-]*)?$/)
              .describe("Path of the file below the folder."),
          }),
        )
        .min(1)
        .max(MAX_FILES),
      ["path"],
    ),
  })
  .describe("Files of bound services, where the app has a feature that asks for files.");
export type MountedFiles = z.output<typeof mountedFiles>;
