// A Python app's needs of the machine.
import { parse } from "smol-toml";
import { join } from "node:path";
import { readIfThere } from "../shared/files.mjs";
import { Problem } from "../shared/log.mjs";
import { findPython, wantedPython } from "./interpreter.mjs";

/** The parsed pyproject.toml, the Python that the project asks for, and the one that it gets. Throws with how to get it. */
export function requireToolchain(app) {
  const project = readProject(app);
  const wanted = wantedPython(app, project);
  return { project, wanted, python: findPython(wanted) };
}

function readProject(app) {
  try {
    return parse(readIfThere(join(app, "pyproject.toml")));
  } catch (error) {
    throw new Problem(`pyproject.toml is no valid TOML: ${error.message.split("\n")[0]}`);
  }
}
