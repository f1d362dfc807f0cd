// Whether this Cupola may use the home of another version. Upgrades keep the home; there is no way back.
/** @throws Error when a newer version has run in `dir`: it may have written what this one cannot read */
export function refuseNewerHome(
  dir: string,
  { version, newestVersion }: { version: string; newestVersion: string | undefined },
): void {
  if (newestVersion === undefined || !/^\d+\.\d+\.\d+/.test(newestVersion)) return;
  if (newestVersion.localeCompare(version, "en", { numeric: true }) <= 0) return;
  throw new Error(
    `${dir} was last used by Cupola ${newestVersion}, and this is ${version}, which may not understand it. Install that version again, as you installed it then (from its checkout: npm pack && npm install --global ./cupola-${newestVersion}.tgz), or start with another --home`,
  );
}
