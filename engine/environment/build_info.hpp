#pragma once

namespace acid {

/// What this program was built from, found out at build time.
struct BuildInfo {
  const char* version;      // "0.1.0"
  const char* commit;       // 12 digits, or "unknown" outside a git checkout
  const char* date;         // of the commit, "2026-11-22"; of the build outside a git checkout
  bool dirty;               // the working tree differed from the commit
  const char* diff_sha256;  // of the changed files' names and differences; empty when not dirty
  const char* compiler;     // "GNU 12.2.0"
  const char* flags;
  const char* build_type;
  const char* sqlite;  // version of the headers
};

const BuildInfo& build_info();

}  // namespace acid
