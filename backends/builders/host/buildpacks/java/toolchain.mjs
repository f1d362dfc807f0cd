// A Java app's needs of the machine.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { requireTool } from "../shared/tools.mjs";
import { findJdk, wantedJava } from "./jdk.mjs";

const tools = [
  { name: "Maven", wrapper: "mvnw", program: "mvn", files: ["mvnw", "pom.xml"] },
  {
    name: "Gradle",
    wrapper: "gradlew",
    program: "gradle",
    files: ["gradlew", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
  },
];

/** The JDK that the app asks for and the one that it gets, and its build tool: the wrapper in the app, else the machine's. Throws with how to get what is missing. */
export function requireToolchain(app) {
  const wanted = wantedJava(app);
  return { wanted, jdk: findJdk(wanted), tool: findTool(app) };
}

function findTool(app) {
  const has = (name) => existsSync(join(app, name));
  const tool = tools.find(({ files }) => files.some(has));
  if (!tool) return undefined;
  const { name, wrapper, program, files } = tool;
  const install = `install it, or add its wrapper (${wrapper}) to the app`;
  const command = has(wrapper) ? join(app, wrapper) : requireTool(program, { title: name, install });
  return { name, file: files.find(has), command, isWrapper: has(wrapper) };
}
