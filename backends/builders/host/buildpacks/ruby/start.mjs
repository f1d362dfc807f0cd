// How a Ruby app starts: Rails, Rack with the server of its Gemfile.lock, or a program.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "../shared/files.mjs";

const host = "${HOST:-0.0.0.0}";

/** `{ command, why }`; undefined when nothing tells how the app starts. */
export function findStart(app) {
  const has = (name) => existsSync(join(app, name));
  const gems = readIfThere(join(app, "Gemfile.lock"));
  const prefix = has("Gemfile") ? "bundle exec " : "";
  if (has("config/application.rb") && has("config.ru"))
    return { why: "Rails", command: `${prefix}rails server -b ${host} -p $PORT` };
  if (has("config.ru") && (/^ {4}puma \(/m.test(gems) || prefix === ""))
    return { why: "Rack with puma", command: `${prefix}puma -b tcp://${host}:$PORT` };
  if (has("config.ru")) return { why: "Rack", command: `${prefix}rackup --host ${host} --port $PORT` };
  const file = ["app.rb", "server.rb", "main.rb"].find(has);
  return file && { why: file, command: `${prefix}ruby ${file}` };
}
