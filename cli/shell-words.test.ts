// Command lines: a shell must give the program the words that the person typed.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { toCommandLine } from "./shell-words.ts";

test.each([
  ["sh", "-c", "exit 4"],
  ["node", "-e", "console.log(1+1)"],
  ["echo", "it's", "$HOME", "*", "", "a b", "~", "x=1", "&&", ">out", "#", "!"],
])("the shell gives %s its arguments back", (...words) => {
  const program = "console.log(JSON.stringify(process.argv.slice(1)))";
  const line = `"$0" -e '${program}' -- ${toCommandLine(words)}`;
  expect(JSON.parse(execFileSync("/bin/sh", ["-c", line, process.execPath], { encoding: "utf8" }))).toEqual(words);
});

test("plain words stay readable, and one word is a line as it is", () => {
  expect(toCommandLine(["rake", "db:migrate", "--trace"])).toBe("rake db:migrate --trace");
  expect(toCommandLine(["RAILS_ENV=a b", "rake", "x=1"])).toBe("RAILS_ENV='a b' rake x=1");
  expect(toCommandLine(["cd data && ls *.csv"])).toBe("cd data && ls *.csv");
});
