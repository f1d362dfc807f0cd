// The tag of a container image's name, by the grammar of references to images.

const DOMAIN = String.raw`(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`;
const COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const REFERENCE = new RegExp(
  String.raw`^(?<name>(?:${DOMAIN}/)?${COMPONENT}(?:/${COMPONENT})*)(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?$`,
);
/** The id of an image is no name of one. */
const ID = /^[a-f0-9]{64}$/;
/** Longest path behind the registry. */
const LONGEST_PATH = 255;

/** `latest` without a tag; undefined for a digest without a tag and for an invalid reference. */
export function imageTag(image: string): string | undefined {
  const { name, tag, digest } = (ID.test(image) ? undefined : REFERENCE.exec(image)?.groups) ?? {};
  if (name === undefined || pathOf(name).length > LONGEST_PATH) return undefined;
  return tag ?? (digest === undefined ? "latest" : undefined);
}

/** A name without a registry is one of Docker's own library. */
function pathOf(name: string): string {
  const [first = "", ...rest] = name.split("/");
  if (rest.length === 0) return `library/${first}`;
  return /[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase() ? rest.join("/") : name;
}
