// The tests are small and share nothing, so one thread runs them all: starting more takes longer.
import { defineConfig } from "vitest/config";

export default defineConfig({
  cacheDir: "vitest-cache",
  test: { include: ["test/**/*.test.ts"], pool: "threads", isolate: false, fileParallelism: false },
});
