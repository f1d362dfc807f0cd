// Runs token-login.cases.ts.
import { runGroup } from "./support/run-cases.ts";
import { TOKEN_LOGIN_CASES } from "./token-login.cases.ts";

runGroup("token-login", TOKEN_LOGIN_CASES);
