// The same verdict at every door, on the embedded API server.
import { judgeAtEveryDoor } from "./same-verdict-suite.ts";

judgeAtEveryDoor();
