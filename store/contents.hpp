#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/sqlite.hpp"

namespace acid {

// What a store holds apart from where it lies there: digests without row numbers, without numbers
// of attempts, without paths in the store's folder, without seals (which are of such numbers), and
// without what acid gc changes. For this folder only, but for contents_digest() (maintenance.hpp).

/// An attempt of a run.
struct AttemptContent {
  std::int64_t id = 0;
  bool counts = false;      // part of it does, or it is the newest
  std::string started;      // UTC
  std::string execution;    // when and by which process it was begun: equal for one execution
  bool has_result = false;  // it ended of its own accord
  std::string ended;        // or its last sign of life
  /// A digest of what stays of an attempt when it is superseded: how it began and ended, log,
  /// results, final digests, files it read.
  std::string kept;
};

/// What a store holds of a run.
struct RunContent {
  std::vector<AttemptContent> attempts;  // oldest first
  std::string counting;  // a digest of all that counts; empty: the run was never begun
  std::string state;     // of the newest attempt, 'interrupted' where it has not ended
  std::int64_t gradients = 0;
  std::string results;  // a digest of its final digests; empty: it has none
};
RunContent content_of_run(const sqlite::Connection& connection, std::int64_t run);

/// A digest of an experiment's row and of its runs, with places, labels and roles.
std::string content_of_experiment(const sqlite::Connection& connection, std::int64_t experiment);

/// A digest of the rows for which `where` holds, in the order of their own content.
std::string content_of_rows(const sqlite::Connection& connection, const std::string& table,
                            const std::string& where, std::int64_t one);

}  // namespace acid
