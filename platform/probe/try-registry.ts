// Tries with a registry all that the platform does there, and reads the builder image.
import { readBuilderImage } from "../../backends/builders/cnb/cnb-class.ts";
import { createImageInspector, noRegistry } from "../../backends/builders/registry-images.ts";
import { bytesSource } from "../../blobs/registry/bytes-source.ts";
import { readDockerConfigFile } from "../../blobs/registry/docker-config-file.ts";
import { MEDIA_TYPES, type ImageManifest } from "../../blobs/registry/image-manifest.ts";
import { createRegistryClient, type RegistryClient } from "../../blobs/registry/registry-client.ts";
import type { RegistrySettings } from "../registry-options.ts";
import { cutSentence, type RegistryOutcome } from "./outcome.ts";

const CALL_DEADLINE_MS = 10_000;
const MAX_BYTES = 1024;
/** Each probe has a tag and a digest of its own. A pod that was ended between push and deletion leaves them. */
const TAG_PREFIX = "probe-";

export interface RegistryTrial {
  settings: RegistrySettings;
  builderImage: string | undefined;
  /** Makes the content of this probe its own. */
  id: string;
}

/** Never throws for what the registry does. */
export async function tryRegistry({ settings, builderImage, id }: RegistryTrial): Promise<RegistryOutcome> {
  const { credentialsFile, insecureHosts, prefix } = settings;
  const client = createRegistryClient({
    credentials:
      credentialsFile === undefined ? () => Promise.resolve(undefined) : await readDockerConfigFile(credentialsFile),
    insecureHosts,
    deadlineMs: CALL_DEADLINE_MS,
  });
  try {
    const registry = await findRegistryFailure(listSteps(client, settings, id));
    // Without the login the builder image of the same registry is not to be had either: one fault, told once.
    const isTold = registry?.step === LOGIN && builderImage?.startsWith(`${prefix.host}/`) === true;
    const problem = isTold || builderImage === undefined ? undefined : await findProblem(client, builderImage);
    return { ...(registry && { registry }), ...(problem !== undefined && { builderImage: problem }) };
  } finally {
    await client.close();
  }
}

const LOGIN = "the login";

interface Step {
  step: string;
  run(): Promise<unknown>;
}

interface Steps {
  write: Step[];
  read: Step[];
  clean: Step[];
}

function listSteps(client: RegistryClient, { prefix }: RegistrySettings, id: string): Steps {
  const repository = prefix.path === "" ? "cupola-probe" : `${prefix.path}/cupola-probe`;
  const place = { host: prefix.host, repository };
  const tag = `${TAG_PREFIX}${id}`;
  const layer = bytesSource(Buffer.from("1"));
  const config = bytesSource(Buffer.from(JSON.stringify({ id })));
  const manifest: ImageManifest = {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.manifest,
    config: { mediaType: MEDIA_TYPES.config, digest: config.digest, size: config.size },
    layers: [{ mediaType: MEDIA_TYPES.layer, digest: layer.digest, size: layer.size }],
  };
  const bytes = Buffer.from(JSON.stringify(manifest));
  const { digest } = bytesSource(bytes);
  return {
    write: [
      { step: LOGIN, run: () => client.ping(prefix.host) },
      { step: "an upload", run: () => Promise.all([layer, config].map((source) => client.uploadBlob(place, source))) },
      {
        step: "a push",
        run: () => client.pushManifest({ ...place, tag }, { mediaType: MEDIA_TYPES.manifest, bytes }),
      },
    ],
    read: [
      { step: "a pull", run: () => client.readBlob(place, { digest: layer.digest, size: layer.size }, MAX_BYTES) },
      {
        step: "a list",
        run: async () => {
          if (!(await client.listTags(place)).includes(tag))
            throw new Error(`it does not list the tag ${tag} of ${repository}`);
        },
      },
    ],
    clean: [{ step: "a deletion", run: () => client.deleteManifest(place, digest) }],
  };
}

/** The first failure. A manifest that was pushed is deleted, whatever fails after that. */
async function findRegistryFailure({ write, read, clean }: Steps): Promise<RegistryOutcome["registry"]> {
  const notWritten = await findFailure(write);
  if (notWritten) return notWritten;
  const notRead = await findFailure(read);
  const notDeleted = await findFailure(clean);
  return notRead ?? notDeleted;
}

async function findFailure(steps: readonly Step[]): Promise<RegistryOutcome["registry"]> {
  for (const { step, run } of steps)
    try {
      await run();
    } catch (error) {
      return { step, message: cutSentence(String((error as Error).message)) };
    }
  return undefined;
}

async function findProblem(client: RegistryClient, builderImage: string): Promise<string | undefined> {
  try {
    await readBuilderImage({ builderImage }, { ...noRegistry, inspect: createImageInspector(client) });
    return undefined;
  } catch (error) {
    return cutSentence(String((error as Error).message));
  }
}
