// Needs of a few operations: a private domain and an org to share it with, droplets without a file, a deployment that is paused.
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { packMembers } from "../../../blobs/archive/tar.ts";
import { eventually } from "../../eventually.ts";
import type { Things } from "../capi/role-requests.ts";
import { type Chance, pick } from "./values.ts";

/** By operation: the list of `SpecialGUIDs` that stands for a plural of its path and body. */
const WANTED: Readonly<Record<string, Readonly<Record<string, SpecialKind>>>> = {
  "POST /v3/domains/{guid}/relationships/shared_organizations": {
    domains: "private-domains",
    organizations: "guest-organizations",
  },
  "DELETE /v3/domains/{guid}/relationships/shared_organizations/{org}": {
    domains: "private-domains",
    organizations: "guest-organizations",
  },
  "POST /v3/droplets/{guid}/upload": { droplets: "empty-droplets" },
  "POST /v3/deployments/{guid}/actions/continue": { deployments: "paused-deployments" },
};

type SpecialKind = "private-domains" | "guest-organizations" | "empty-droplets" | "paused-deployments";
type SpecialGUIDs = Readonly<Record<SpecialKind, readonly string[]>>;

/** `things` and `guids` as that operation needs them. */
export function aimAt<Aim extends { chance: Chance; things: Things }>(operation: string, { chance, things }: Aim): Aim {
  const found = Object.entries(WANTED[operation] ?? {}).flatMap(([kind, special]) => {
    const guids = chance.guids[special] ?? [];
    return guids.length > 0 ? [[kind, guids] as const] : [];
  });
  const picked = found.map(([kind, guids]) => [kind, pick(chance, guids)]);
  return {
    chance: { ...chance, guids: { ...chance.guids, ...Object.fromEntries(found) } },
    things: { ...things, ...(Object.fromEntries(picked) as Things) },
  } as Aim;
}

export interface ApiCalls {
  /** A POST, or what `at` names before the path, that must succeed. */
  make(at: string, body: unknown, status?: number): Promise<{ guid: string }>;
  list(path: string): Promise<string[]>;
  upload(path: string, form: Form): Promise<void>;
  /** A POST that may be refused. */
  post(path: string, body: unknown): Promise<unknown>;
}

const to = (guid: string | undefined): object => ({ data: { guid } });
const ofApp = (guid: string | undefined): object => ({ relationships: { app: to(guid) } });

/** Makes an org, a private domain and a started app. @returns `things` with them */
export async function furnishSpecial({ make, list, upload }: ApiCalls, name: string, things: Things): Promise<Things> {
  const org = await make("/v3/organizations", { name: `${name}-guest` });
  const relationships = { organization: to(things["organizations"]) };
  const domain = await make("/v3/domains", { name: `${name}-private.example`, relationships });
  const app = await make("/v3/apps", { name: `${name}-canary`, relationships: { space: to(things["spaces"]) } });
  const droplet = await make("/v3/droplets", { ...ofApp(app.guid), process_types: { web: "true" } });
  await upload(`/v3/droplets/${droplet.guid}/upload`, uploadOf(DROPLET_FILE, "droplet.tgz"));
  await eventually(async () => {
    const ready = await list(`/v3/droplets?guids=${droplet.guid}&states=STAGED`);
    if (ready.length === 0) throw new Error("the uploaded droplet is not ready");
  }, 60_000);
  await make(`PATCH /v3/apps/${app.guid}/relationships/current_droplet`, to(droplet.guid), 200);
  await make(`/v3/apps/${app.guid}/actions/start`, undefined, 200);
  return { ...things, "guest-organizations": org.guid, "private-domains": domain.guid, "canary-apps": app.guid };
}

/** Makes again what requests used up, and reads what there is. */
export async function refreshSpecial({ list, post }: ApiCalls, things: Things): Promise<SpecialGUIDs> {
  const app = things["canary-apps"];
  const active = await list(`/v3/deployments?app_guids=${app}&status_values=ACTIVE`);
  const steps = [20, 40, 60, 80].map((weight) => ({ instance_weight: weight }));
  if (active.length === 0)
    await post("/v3/deployments", { ...ofApp(app), strategy: "canary", options: { canary: { steps } } });
  const empty = "/v3/droplets?states=AWAITING_UPLOAD&per_page=100";
  if ((await list(empty)).length === 0) await post("/v3/droplets", ofApp(app));
  return {
    "private-domains": [things["private-domains"] ?? ""],
    "guest-organizations": [things["guest-organizations"] ?? ""],
    "empty-droplets": await list(empty),
    "paused-deployments": await list("/v3/deployments?status_reasons=PAUSED"),
  };
}

/** The body of a request with one file. */
export interface Form {
  headers: Record<string, string>;
  body: Uint8Array;
}

/** A form with that file. */
export function uploadOf(file: Buffer, name = "a.zip"): Form {
  const head = `--b\r\ncontent-disposition: form-data; name="bits"; filename="${name}"\r\ncontent-type: application/zip\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), file, Buffer.from("\r\n--b--\r\n")]);
  return { headers: { "content-type": "multipart/form-data; boundary=b" }, body };
}

/** A droplet as `POST /v3/droplets/{guid}/upload` takes it. */
export const DROPLET_FILE = await buffer(
  packMembers([{ path: "app/run", type: "file", mode: 0o755, size: 0, content: () => Readable.from([]) }]),
);
