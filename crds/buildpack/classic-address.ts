// Addresses of Cloud Foundry's own buildpacks, which need its containers. Pure.

const ADDRESS =
  /^(?:https?|git|ssh):\/\/(?:git@)?github\.com\/cloudfoundry\/([a-z-]+)-buildpack(?:\.git)?\/?(?:#.*)?$/i;

/** The name under which Cloud Foundry installs the buildpack of this git repository, such as `nodejs_buildpack`; undefined for any other text. */
export function classicBuildpackName(address: string): string | undefined {
  const name = ADDRESS.exec(address)?.[1];
  return name && `${name.toLowerCase().replaceAll("-", "_")}_buildpack`;
}
