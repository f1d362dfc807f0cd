// Hostile uploads and names of a developer: archives that fill the disk, GUIDs of others' objects, commands that act on a colleague's terminal.
import { randomBytes } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { FormData, request } from "undici";
import { expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { errorsOf, type Api, type ApiAnswer, type Named, type Page } from "../support/api.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import type { User } from "../support/user.ts";

interface Attacked {
  laptop: TestPlatform;
  /** May do everything in the attacker's space. */
  api: Api;
  token: string;
  attacker: User;
  /** Namespace of the app thief. */
  namespace: string;
}

const ESCAPE = "\u001b";
const FAR_MORE = 400 * 2 ** 20;

async function tarGz(content: Buffer): Promise<Buffer> {
  const tar = pack();
  tar.entry({ name: "app", type: "directory" });
  tar.entry({ name: "app/file" }, content);
  tar.finalize();
  return gzipSync(await buffer(tar), { level: 1 });
}

/** Unpacks to 50 times its size, as source code may. */
function plausible(size: number): Buffer {
  const block = Buffer.concat([randomBytes(20_000), Buffer.alloc(2 ** 20 - 20_000)]);
  return Buffer.alloc(size, block);
}

export function uploadAndNameAttacks(get: () => Attacked): void {
  const thief = async (): Promise<string> =>
    (await get().api.call<Page<Named>>("GET", "/v3/apps?names=thief")).resources[0]?.guid ?? "";

  async function upload(archive: Buffer, signal?: AbortSignal): Promise<ApiAnswer> {
    const { api, laptop, token } = get();
    const relationships = { app: { data: { guid: await thief() } } };
    const { guid } = await api.call("POST", "/v3/droplets", { relationships });
    const body = new FormData();
    body.set("bits", new Blob([new Uint8Array(archive)]), "droplet.tgz");
    const answer = await request(`${laptop.url}/v3/droplets/${guid}/upload`, {
      method: "POST",
      headers: { authorization: `bearer ${token}` },
      body,
      headersTimeout: 60_000,
      ...(signal && { signal }),
    });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  }

  /** Bytes of uploads on the disk now. */
  const scratch = (): string[] => {
    const root = join(get().laptop.home, "data", "scratch");
    return readdirSync(root).flatMap((process) => readdirSync(join(root, process)));
  };

  test("a droplet of zeros is refused, and nothing of it stays", async () => {
    const answer = await upload(await tarGz(Buffer.alloc(FAR_MORE)));
    expect(answer.status, answer.text).toBe(422);
    expect(errorsOf(answer)[0]?.detail).toContain("more than 200 times its size");
    await eventually(() => expect(scratch()).toEqual([]));
  });

  test("a droplet whose checksum is wrong is refused in words", async () => {
    const archive = await tarGz(Buffer.from("x"));
    archive.writeUInt8(archive.readUInt8(archive.length - 8) ^ 1, archive.length - 8);
    const answer = await upload(archive);
    expect(answer.status, answer.text).toBe(422);
    expect(errorsOf(answer)[0]?.detail).toContain("incorrect data check");
  });

  test("who leaves while a droplet is unpacked leaves nothing behind", async () => {
    const client = new AbortController();
    const left = upload(await tarGz(plausible(FAR_MORE)), client.signal).catch((error: unknown) => error);
    await eventually(() => expect(scratch()).toHaveLength(1));
    client.abort();
    await left;
    await eventually(() => expect(scratch()).toEqual([]));
  });

  test("an app does not get the GUID, and so the log, of one that is gone", async () => {
    const { laptop, attacker, namespace } = get();
    const file = join(laptop.home, "doomed.json");
    const app = (name: string, labels = {}): void =>
      writeFileSync(
        file,
        JSON.stringify({
          apiVersion: "cupola.dev/v1alpha1",
          kind: "App",
          metadata: { name, namespace, labels },
          spec: {},
        }),
      );
    const bind = ["--clusterrole=cupola-space-developer", "--serviceaccount=default:attacker"];
    expect((await laptop.kubectl("create", "rolebinding", "heir", "-n", namespace, ...bind)).code).toBe(0);
    app("doomed");
    const made = await laptop.kubectl("apply", "-f", file, "-o", "jsonpath={.metadata.uid}");
    expect(made.code, made.output).toBe(0);
    expect((await laptop.kubectl("delete", "-f", file)).code).toBe(0);
    app("heir", { "cupola.dev/guid": made.output.trim() });
    await eventually(async () => {
      const { code, output } = await attacker.kubectl("apply", "-f", file);
      expect([code, output]).toEqual([
        1,
        expect.stringContaining("remove the label, and the object gets a GUID of its own"),
      ]);
    });
  });

  test("a command or a value does nothing to the terminal of who lists it", async () => {
    const { api, laptop } = get();
    const guid = await thief();
    const text = `true ${ESCAPE}]0;owned\u0007${ESCAPE}[2J\u009b2J`;
    await api.call("POST", `/v3/apps/${guid}/tasks`, { command: text });
    await api.call("PATCH", `/v3/apps/${guid}/environment_variables`, { var: { A: text } });
    for (const args of [
      ["tasks", "thief"],
      ["env", "thief"],
      ["tasks", "thief", "--json"],
      ["env", "thief", "--json"],
    ]) {
      const { code, output } = await laptop.cup(...args);
      expect(code, output).toBe(0);
      expect(output).toContain("owned");
      expect(output).not.toMatch(new RegExp(`[${ESCAPE}\u0007\u009b]`));
    }
  });
}
