// The clean environment that programs on this machine start from. Nothing else of the platform's own environment reaches them.
import { userInfo } from "node:os";
import { delimiter, dirname } from "node:path";

export type Environment = Record<string, string>;

/** PATH with the Node that runs the platform first, LANG and USER. No other variable of the platform's process is passed on: any may be a credential. */
export function hostEnvironment(
  path: string = process.env["PATH"] ?? "",
  execPath: string = process.execPath,
): Environment {
  // What npm puts on the path of its scripts belongs to the platform, not to apps.
  const own = (directory: string): boolean =>
    directory === "" || /(^|[\\/])(node_modules[\\/]\.bin|node-gyp-bin)$/.test(directory);
  const directories = [
    dirname(execPath),
    ...path.split(delimiter).filter((directory) => !own(directory)),
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
  ];
  return { PATH: [...new Set(directories)].join(delimiter), LANG: "en_US.UTF-8", USER: userInfo().username };
}
