// Copies and moves whole folders, with links and times as they are.
import { constants, cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";

/** Makes `to` a copy of `from`; whatever was there is removed. */
export function copyTree(from, to) {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(dirname(to), { recursive: true });
  // Copy-on-write where the file system supports it.
  cpSync(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    mode: constants.COPYFILE_FICLONE,
  });
}

/** Moves `from` to `to`; whatever was there is removed. */
export function moveTree(from, to) {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(dirname(to), { recursive: true });
  try {
    renameSync(from, to);
  } catch (error) {
    if (error.code !== "EXDEV") throw error;
    copyTree(from, to);
    rmSync(from, { recursive: true, force: true });
  }
}
