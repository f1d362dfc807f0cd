// Worker thread: turns YAML into JSON, one text after the other.
import { parentPort } from "node:worker_threads";
import { type YamlDialect, yamlToJson } from "./yaml-to-json.ts";

/** The message that the worker is sent. */
export interface YamlJob {
  text: string;
  dialect: YamlDialect;
}

parentPort?.on("message", ({ text, dialect }: YamlJob) => parentPort?.postMessage(yamlToJson(text, dialect)));
