import { defineConfig } from "vitest/config";
import { SHORT } from "./private.mjs";

// Members have the short names of the shipped files, so that a name that must not be shortened is found here.
export default defineConfig({
  esbuild: SHORT,
  test: { include: ["test/**/*.test.ts"], pool: "threads", fileParallelism: false, testTimeout: 60_000 },
});
