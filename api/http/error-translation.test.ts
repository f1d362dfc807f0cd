// Thrown errors become CF errors.
import { expect, test } from "vitest";
import { KubeError } from "../../kube/client/errors.ts";
import { admissionWarning, toCFError } from "./error-translation.ts";

test.each<[number, string, number]>([
  [401, "CF-InvalidAuthToken", 401],
  [403, "CF-NotAuthorized", 403],
  [404, "CF-ResourceNotFound", 404],
  [413, "CF-BadRequest", 413],
  [422, "CF-UnprocessableEntity", 422],
  [429, "CF-RateLimitExceeded", 429],
  [500, "CF-ServiceUnavailable", 503],
])("the Kubernetes API's %i is %s", (code, title, status) => {
  const error = toCFError(new KubeError({ code, message: "no" }));
  expect([error.errors[0]?.title, error.status]).toEqual([title, status]);
});

test("whatever no code expects is an unknown error, and says nothing of its cause", () => {
  const error = toCFError(new Error("password=1234"));
  expect([error.status, error.errors]).toEqual([
    500,
    [{ code: 10001, title: "UnknownError", detail: "An unknown error occurred." }],
  ]);
});

test("an admission policy's refusal says what the policy says, without Kubernetes' words around it", () => {
  const message =
    "ValidatingAdmissionPolicy 'owner' with binding 'owner' denied request: needs the labels owner, as our wiki says";
  const error = toCFError(
    new KubeError({
      code: 422,
      message: `apps.cupola.dev "x" is forbidden: ${message}`,
      details: { causes: [{ message }] },
    }),
  );
  expect(error.errors[0]?.detail).toBe("needs the labels owner, as our wiki says");
});

test("of Kubernetes' warnings users of CF get those of admission policies, in the policy's own words", () => {
  const text =
    "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': Size limit: is large: 2G (policy s)";
  expect(admissionWarning(text)).toBe("Size limit: is large: 2G (policy s)");
  expect(admissionWarning("unknown field")).toBeUndefined();
});

test.each([
  [
    "sizelimit.small.constraints.cupola.dev",
    "sizelimit: expression 'x' resulted in error: no such key: y (policy small)",
  ],
  [
    "places.sizelimit.a.b.constraints.cupola.dev",
    "sizelimit: expression 'x' resulted in error: no such key: y (policy a.b)",
  ],
  ["guid.cupola.dev", "expression 'x' resulted in error: no such key: y"],
])("a rule of the policy %s that cannot be evaluated names its constraint", (name, sentence) => {
  const text = "expression 'x' resulted in error: no such key: y";
  const message = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${text}`;
  const error = new KubeError({ code: 422, message: `apps.cupola.dev "x" is forbidden: ${message}` });
  expect(toCFError(error).errors[0]?.detail).toBe(sentence);
  const warning = `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': ${text}`;
  expect(admissionWarning(warning)).toBe(sentence);
});
