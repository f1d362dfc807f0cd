// The machine-held part of the house style (CONTRIBUTING.md): numbers here, reasons there.
import tseslint from "typescript-eslint";

// Functions over 40 lines, each because it is a factory, whose lines are the small methods of the one object that it returns, or one literal, a role or a policy.
const FACTORIES = [
  "api/cache/cluster-cache.ts",
  "api/identity/token-issuer.ts",
  "backends/builders/host/build-queue.ts",
  "backends/routers/local/exchange.ts",
  "backends/routers/local/routing-table.ts",
  "backends/runners/process/lrp-instances.ts",
  "backends/runners/process/usage-meter.ts",
  "backends/runners/process/run-instance.ts",
  "backends/runners/process/tail-file.ts",
  "blobs/directory/directory-store.ts",
  "kube/cache/value-index.ts",
  "kube/cache/informers.ts",
  "local/apiserver/apply/type-view.ts",
  "local/apiserver/discovery/paths.ts",
  "local/apiserver/gc/work-queue.ts",
  "local/apiserver/registry/watch.ts",
  "local/apiserver/server.ts",
  "local/apiserver/storage/store.ts",
  "local/apiserver/storage/table.ts",
  "telemetry/log-ring.ts",
];

// Six rules ask the type checker, three quarters of the time of a cold run: `npm test` asks them of changed files only (scripts/lint.ts).
const isTyped = process.env["CUPOLA_LINT"] !== "untyped";
const TYPED_RULES = {
  "@typescript-eslint/no-floating-promises": "error",
  "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { arguments: false, attributes: false } }],
  "@typescript-eslint/await-thenable": "error",
  "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
  "@typescript-eslint/only-throw-error": "error",
  "@typescript-eslint/use-unknown-in-catch-callback-variable": "error",
};

export default tseslint.config(
  {
    ignores: [
      "node_modules/",
      "deploy/",
      "examples/",
      "backends/builders/host/buildpacks/**",
      "**/*.golden.*",
      "**/testdata/**",
      "scripts/*.mjs",
      "eslint.config.js",
    ],
  },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.base],
    ...(isTyped && {
      languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    }),
    // A directive for a rule that does not run is no unused one.
    linterOptions: { reportUnusedDisableDirectives: isTyped ? "error" : "off" },
    rules: {
      complexity: ["error", 10],
      "max-depth": ["error", 3],
      "max-params": ["error", 4],
      "max-lines": ["error", { max: 500, skipBlankLines: false, skipComments: false }],
      "max-lines-per-function": ["error", { max: 40, skipBlankLines: true, skipComments: true }],
      "no-empty": ["error", { allowEmptyCatch: false }],
      "no-console": "error",
      "prefer-const": "error",
      eqeqeq: "error",
      "object-shorthand": ["error", "properties"],
      "no-useless-rename": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", caughtErrorsIgnorePattern: "^_" },
      ],
      ...(isTyped && TYPED_RULES),
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      // Type stripping keeps `import { type X } from "y"` as a real import of y.
      "@typescript-eslint/no-import-type-side-effects": "error",
    },
  },
  { files: ["scripts/**/*.ts", "test/**/*.ts"], rules: { "no-console": "off" } },
  {
    files: ["cli/**/*.ts"],
    ignores: ["cli/output.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "MemberExpression[object.object.name='process'][property.name='write']",
          message:
            "printLines, printError and printJson of cli/output.ts show what others wrote without its control characters",
        },
      ],
    },
  },
  {
    files: FACTORIES,
    rules: { "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }] },
  },
  { files: ["**/*.test.ts", "test/**/*.ts", "**/testing/*.ts"], rules: { "max-lines-per-function": "off" } },
);
