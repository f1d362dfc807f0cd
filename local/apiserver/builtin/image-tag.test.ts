// Which tag an image has decides whether a kubelet asks for it anew each time.
import { expect, test } from "vitest";
import { imageTag } from "./image-tag.ts";

const digest = `sha256:${"0".repeat(64)}`;

test.each([
  ["nginx", "latest"],
  ["nginx:1.27", "1.27"],
  ["nginx:latest", "latest"],
  ["registry.example:5000/a/b", "latest"],
  ["localhost:5000/a", "latest"],
  ["registry.example/x:v1", "v1"],
  [`x@${digest}`, undefined],
  [`x:latest@${digest}`, "latest"],
  ["[::1]:5000/x", "latest"],
  ["", undefined],
  ["Not OK!", undefined],
  ["UPPER", undefined],
  ["x:", undefined],
  ["a".repeat(64), undefined],
  ["x@sha256:12", undefined],
  ["x".repeat(247), "latest"],
  ["x".repeat(248), undefined],
  [`registry.example/${"x".repeat(255)}`, "latest"],
])("the tag of %j", (image, tag) => expect(imageTag(image)).toBe(tag));
