#pragma once

namespace acid {

/// The beginning of acid-worker's error messages on standard error. acid looks for them among the
/// output of launchers and libraries.
inline constexpr const char* kWorkerErrorPrefix = "acid-worker: error: ";
/// The beginning of a line that says for which process a start is waiting.
inline constexpr const char* kWorkerWaitingPrefix = "acid-worker: waiting: ";

/// The message of an attempt that a signal stopped.
inline constexpr const char* kStoppedBySignal = "stopped by a signal";

/// The descriptor on which acid names more runs to a worker that was started with --more.
inline constexpr int kMoreRuns = 3;

}  // namespace acid
