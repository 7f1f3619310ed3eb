import type { Expectation } from "./schema.ts";

/** True if the runs met an expectation; null if that is not decided. */
export const hasPassed = (e: Expectation): boolean | null => e.held;
