// Which addresses are those of Cloud Foundry's own buildpacks.
import { expect, test } from "vitest";
import { classicBuildpackName } from "./classic-address.ts";

test.each([
  ["https://github.com/cloudfoundry/nodejs-buildpack", "nodejs_buildpack"],
  ["https://github.com/cloudfoundry/nodejs-buildpack.git#v1.8.3", "nodejs_buildpack"],
  ["https://github.com/cloudfoundry/dotnet-core-buildpack.git", "dotnet_core_buildpack"],
  ["git://github.com/CloudFoundry/Go-buildpack/", "go_buildpack"],
  ["https://github.com/somebody/nodejs-buildpack.git", undefined],
  ["https://github.com/cloudfoundry/cli.git", undefined],
  ["nodejs_buildpack", undefined],
])("%s is %s", (address, name) => expect(classicBuildpackName(address)).toBe(name));
