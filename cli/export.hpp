#pragma once

#include <string>
#include <vector>

#include "cli/terminal/session.hpp"
#include "store/queries.hpp"

namespace acid {

/// The request of `acid export`. `runs`: ids; exactly one for a format of one run.
struct ExportRequest {
  const Session& session;
  const Store& store;
  AskedRuns runs;
  std::string output;  // a file, "-" for standard output, or a folder
  bool wide = false;
};

/// One FORMAT of `acid export`; export_formats.cpp lists them. `write` makes files as OutputFile
/// does, whole or not at all, and throws UsageError when the runs have nothing that the format can
/// hold.
struct ExportFormat {
  const char* name;
  const char* help;  // a phrase for --help
  enum class Of { any_runs, one_run } of;
  enum class To { anything, file, folder } to;  // file and folder require -o
  bool has_wide;                                // --wide is allowed
  void (*write)(const ExportRequest& request);
};
const std::vector<ExportFormat>& export_formats();

}  // namespace acid
