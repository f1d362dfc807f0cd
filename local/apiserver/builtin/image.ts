// The tag of a container image's name, by the grammar of references to images.

const DOMAIN = String.raw`(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`;
const COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const REFERENCE = new RegExp(String.raw`^(?:${DOMAIN}/)?${COMPONENT}(?:/${COMPONENT})*(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?$`);
/** The id of an image is no name of one. */
const ID = /^[a-f0-9]{64}$/;
const LONGEST_NAME = 255;

/** `latest` where nothing says which; undefined where a digest does alone, or the text names no image. */
export function imageTag(image: string): string | undefined {
  const found = image.length > LONGEST_NAME * 2 || ID.test(image) ? null : REFERENCE.exec(image);
  if (!found) return undefined;
  const { tag, digest } = found.groups ?? {};
  return tag ?? (digest === undefined ? "latest" : undefined);
}
