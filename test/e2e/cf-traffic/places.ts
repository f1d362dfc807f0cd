// A laptop's recorded answer as a node gives it: by rule, so that every request is still sent and every answer still compared.
import { ANY, EACH } from "./match.ts";
import type { RecordedExchange, Template } from "./traffic.ts";

type Fields = Readonly<Record<string, Template>>;

/** A rule for answers to requests whose path matches. */
interface Rule {
  path: RegExp;
  onNode: (body: Fields) => Template;
}

const RULES: readonly Rule[] = [
  // The buildpacks are the builder image's.
  {
    path: /^\/v3\/buildpacks$/,
    onNode: (body) => ({ ...body, pagination: ANY, resources: { [EACH]: toAnyBuildpack(body) } }),
  },
  // Pods have addresses of their own.
  { path: /\/stats$/, onNode: (body) => ({ ...body, resources: membersOf(body).map(withoutAddress) }) },
  // Droplets are images. What is posted to the list answers one.
  { path: /^\/v3\/droplets\/[^/]+$|\/droplets\/current$/, onNode: toImage },
  {
    path: /\/droplets$/,
    onNode: (body) =>
      body["resources"] === undefined ? toImage(body) : { ...body, resources: membersOf(body).map(toImage) },
  },
];

/** The exchange as a node answers it. */
export function onNode({ request, answer }: RecordedExchange): RecordedExchange {
  return { request, answer: { ...answer, body: bodyOnNode(request.path, answer.body) } };
}

/** An answer's body as a node answers it. */
export function bodyOnNode(path: string, body: Template): Template {
  const rule = RULES.find((each) => each.path.test(path.split("?")[0] ?? ""));
  return rule && typeof body === "object" && body !== null ? rule.onNode(body as Fields) : body;
}

function membersOf({ resources }: Fields): readonly Fields[] {
  return Array.isArray(resources) ? (resources as readonly Fields[]) : [];
}

function toAnyBuildpack(body: Fields): Template {
  const [first = {}] = membersOf(body);
  return { ...first, guid: "<guid>", name: ANY, filename: ANY, position: "<number>", links: ANY };
}

function withoutAddress(stat: Fields): Fields {
  const address = { host: "<ip>", instance_internal_ip: "<ip>" };
  return stat["host"] === undefined ? stat : { ...stat, ...address };
}

function toImage(droplet: Fields): Fields {
  const { checksum, buildpacks } = droplet;
  // An error, or an answer to another verb.
  if (checksum === undefined || !Array.isArray(buildpacks)) return droplet;
  const ofBuilder = (name: Template | undefined): string => String(name).replace(/^(\w+)_buildpack$/, "cupola/$1");
  return {
    ...droplet,
    checksum: null,
    image: ANY,
    buildpacks: (buildpacks as readonly Fields[]).map((one) => ({
      ...one,
      name: ofBuilder(one["name"]),
      buildpack_name: ofBuilder(one["buildpack_name"]),
    })),
  };
}
