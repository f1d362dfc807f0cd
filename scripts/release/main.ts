// `npm pack` runs this before it packs: writes dist/, which is the package's code. No source of the checkout changes.
import { join } from "node:path";
import { compileRelease } from "./compile.ts";

const checkout = join(import.meta.dirname, "..", "..");
compileRelease(checkout, join(checkout, "dist"));
