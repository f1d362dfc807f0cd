// The bill of materials of a release, in CycloneDX: what npm installs, and Debian's packages of the image. Equal inputs give equal bytes.
import { runCommand } from "../run-command.ts";

const DEADLINE_MS = 60_000;

interface Bom {
  metadata: { timestamp?: string; component: { name: string } };
  components: object[];
  serialNumber?: string;
}

/** @param debian `name_version_architecture` of each package. @throws Error with npm's output */
export async function makeBom(checkout: string, debian: readonly string[]): Promise<string> {
  const { code, output } = await runCommand(
    ["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only", "--omit", "dev"],
    { cwd: checkout, deadlineMs: DEADLINE_MS },
  );
  if (code !== 0) throw new Error(`npm sbom failed\n${output.slice(-2000)}`);
  return joinBom(JSON.parse(output.slice(output.indexOf("{"))) as Bom, debian);
}

/** Without its time and its random number, so that two builds of a commit are equal. Pure. */
export function joinBom({ serialNumber: _random, ...bom }: Bom, debian: readonly string[]): string {
  const { timestamp: _now, ...metadata } = bom.metadata;
  const component = { ...metadata.component, name: "cupola" };
  const components = [...bom.components, ...debian.toSorted().map(toComponent)];
  return `${JSON.stringify({ ...bom, metadata: { ...metadata, component }, components }, null, 2)}\n`;
}

function toComponent(package_: string): object {
  const [name = "", version = "", architecture = ""] = package_.split("_");
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
  return { "bom-ref": purl, type: "library", name, version, purl };
}
