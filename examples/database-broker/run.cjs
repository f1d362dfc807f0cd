// Runs programs of this machine: finds them, gives them a deadline, and says what is missing.
const { spawn } = require("node:child_process");
const { accessSync, constants, readdirSync } = require("node:fs");
const { createServer } = require("node:net");
const { delimiter, join } = require("node:path");

const DEADLINE_MS = 60_000;
const MAX_OUTPUT = 64 * 1024;

/** A person has to do something first. Its message says what. */
class Unusable extends Error {}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const onPath = () => (process.env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));

/** The first folder that has the program. */
function findFolder(program, folders = onPath()) {
  return folders.find((folder) => isExecutable(join(folder, program)));
}

/** Folders whose names are numbers, the highest first. */
function numberedFolders(parent) {
  try {
    return readdirSync(parent)
      .filter((name) => /^\d+$/.test(name))
      .sort((a, b) => b - a)
      .map((name) => join(parent, name));
  } catch {
    return []; // no such folder
  }
}

/** Its standard output. @throws Error with the end of what the program said */
function run([program, ...args], { input = "", env = {}, deadlineMs = DEADLINE_MS } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (output = (output + text).slice(-MAX_OUTPUT)));
    child.stderr.setEncoding("utf8").on("data", (text) => (errors = (errors + text).slice(-MAX_OUTPUT)));
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      // What it started may hold them.
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
    }, deadlineMs);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code === 0) return resolve(output);
      const reason = code === null ? `did not end in ${deadlineMs / 1000} s` : `ended with ${code}`;
      reject(new Error(`${program} ${reason}: ${(errors || output).trim().slice(-2000)}`));
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}

/** A free port of this machine. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

module.exports = { Unusable, findFolder, freePort, numberedFolders, run };
