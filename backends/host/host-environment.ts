// The clean base environment of programs on this machine. No other variable of the platform's process reaches them.
import { userInfo } from "node:os";
import { delimiter, dirname } from "node:path";

export type Environment = Record<string, string>;

/** PATH with the platform's Node first, LANG and USER. No other variable is passed on, since any may be a credential. */
export function hostEnvironment(
  path: string = process.env["PATH"] ?? "",
  execPath: string = process.execPath,
): Environment {
  // Folders that npm adds to the PATH of its scripts belong to the platform, not to apps.
  const own = (directory: string): boolean =>
    directory === "" || /(^|[\\/])(node_modules[\\/]\.bin|node-gyp-bin)$/.test(directory);
  const directories = [
    dirname(execPath),
    ...path.split(delimiter).filter((directory) => !own(directory)),
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
  ];
  return { PATH: [...new Set(directories)].join(delimiter), LANG: "en_US.UTF-8", USER: userName() };
}

/** Name in the user database. A container's user may be in none; the number then, as `id` shows it. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "");
  }
}
