#pragma once

namespace acid {

/// How lines begin that acid-worker writes for people on standard error; acid looks for them among
/// what launchers and libraries write there.
inline constexpr const char* kWorkerErrorPrefix = "acid-worker: error: ";
/// Of a line that says whom a start is waiting for.
inline constexpr const char* kWorkerWaitingPrefix = "acid-worker: waiting: ";

}  // namespace acid
