// Operator policy at the CF API on the embedded API server.
import { judgeAtCFAPI } from "./cf-api-suite.ts";

judgeAtCFAPI();
