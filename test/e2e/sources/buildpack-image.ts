// A registry on this machine with one image, that of a buildpack, as `pack buildpack package` makes it.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";

const BUILDPACK = { id: "test/greeter", version: "1.0.0" };
const FOLDER = "/cnb/buildpacks/test_greeter/1.0.0";

/** It serves the app's file greeting.txt by this machine's Node. */
const FILES: Readonly<Record<string, string>> = {
  "buildpack.toml": `api = "0.10"\n[buildpack]\nid = "${BUILDPACK.id}"\nname = "Greeter"\nversion = "${BUILDPACK.version}"\n[[targets]]\nos = "${process.platform}"\n`,
  "bin/detect": "#!/bin/sh\ntest -f greeting.txt || exit 100\n",
  "bin/build": `#!/bin/sh
echo "Greets by greeting.txt"
cat > "$CNB_LAYERS_DIR/launch.toml" <<'END'
[[processes]]
type = "web"
default = true
command = ["node", "-e", "require('http').createServer((q, r) => r.end(require('fs').readFileSync('greeting.txt'))).listen(process.env.PORT, process.env.HOST)"]
END
`,
};

/** Serves the image as `<host>:<port>/team/greeter:1` to everybody who reaches this address of this machine. */
export async function serveBuildpackImage(host = "127.0.0.1"): Promise<{ image: string; stop(): Promise<void> }> {
  const answers = await imageAnswers("team/greeter");
  const server = createServer(({ url = "" }, response) => {
    const answer = answers.get(url);
    if (answer) response.writeHead(200, { "content-type": answer.type }).end(answer.body);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    image: `${host}:${(server.address() as AddressInfo).port}/team/greeter:1`,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function imageAnswers(name: string): Promise<Map<string, { type: string; body: Buffer }>> {
  const answers = new Map<string, { type: string; body: Buffer }>();
  const digestOf = (body: Buffer): string => `sha256:${createHash("sha256").update(body).digest("hex")}`;
  const putBlob = (body: Buffer): { digest: string; size: number } => {
    answers.set(`/v2/${name}/blobs/${digestOf(body)}`, { type: "application/octet-stream", body });
    return { digest: digestOf(body), size: body.length };
  };
  const tar = pack();
  for (const [path, content] of Object.entries(FILES)) tar.entry({ name: `${FOLDER}/${path}`, mode: 0o755 }, content);
  tar.finalize();
  const layer = putBlob(gzipSync(await buffer(tar)));
  const labels = { "io.buildpacks.buildpackage.metadata": JSON.stringify(BUILDPACK) };
  const config = putBlob(Buffer.from(JSON.stringify({ os: "linux", config: { Labels: labels } })));
  const type = "application/vnd.oci.image.manifest.v1+json";
  const body = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: type, config, layers: [layer] }));
  for (const reference of ["1", digestOf(body)]) answers.set(`/v2/${name}/manifests/${reference}`, { type, body });
  return answers;
}
