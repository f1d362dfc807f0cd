// The sets extension: lists read as sets.
import { contains } from "../compare.ts";
import { list, type Library } from "./library.ts";

export const sets: Library = {
  functions: {
    "sets.contains": (whole, part) => list(part).every((item) => contains(item, list(whole))),
    "sets.equivalent": (a, b) =>
      list(a).every((item) => contains(item, list(b))) && list(b).every((item) => contains(item, list(a))),
    "sets.intersects": (a, b) => list(a).some((item) => contains(item, list(b))),
  },
  methods: {},
};
