#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "reports/read_at.hpp"
#include "store/queries.hpp"

namespace acid {

struct ReportOptions {
  /// The page of unfinished runs: their curves so far, how many have finished, and a script that
  /// asks its server for a newer page.
  bool live = false;
  /// Where compared values are read; curves are whole.
  ReadAt at = {};
  /// The conditions by which the runs were chosen, for the page's own command.
  std::vector<std::string> where = {};
  /// Threads that read the store, each with a connection of its own; 0: one per core. The bytes of
  /// the page do not depend on it.
  int threads = 0;
  /// Called on the calling thread each time another run has been read. May be empty.
  std::function<void(std::size_t done, std::size_t runs)> progress = {};
};

/// One self-contained HTML page comparing the runs: opens from disk, fetches nothing, and has the
/// same bytes for the same store and build of acid. Its charts are drawings that need no script; a
/// build with npm adds a script that replaces them on screen. UsageError for no runs.
std::string render_report(const Store& store, const AskedRuns& asked,
                          const ReportOptions& options = {});

/// The policy in the page's head, for the header of a server that sends it. It allows the page's
/// own script and style sheet, by their digests, and nothing else.
std::string content_security_policy(bool live);

}  // namespace acid
