#pragma once

#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/open.hpp"
#include "store/queries.hpp"
#include "store/store.hpp"

namespace acid {

/// The seals that runs share: checked once for many runs, until something is written.
struct KnownSeals {
  std::string moment;
  /// By the experiment's number, what broken_experiment() found.
  std::unordered_map<std::int64_t, std::vector<std::string>> experiments;
  std::optional<bool> lists;
};

/// What a Store holds. For this folder only.
struct Store::Impl {
  Impl(std::string store_folder, Access access) : folder(std::move(store_folder)) {
    if (access == Access::read)
      reading.emplace(open_for_reading(folder));
    else
      writing.emplace(folder, WritingConnection::Durability::every_commit);
  }
  const sqlite::Connection& connection() const { return reading ? *reading : writing->get(); }
  sqlite::Connection& connection() { return reading ? *reading : writing->get(); }
  /// Empty when something was written since the last call.
  KnownSeals& known_seals() const;

  std::string folder;
  std::optional<sqlite::Connection> reading;  // exactly one of the two
  std::optional<WritingConnection> writing;
  std::unordered_map<std::int64_t, std::string> begun;  // by attempt: the id of its run

 private:
  mutable KnownSeals known_seals_;
};

/// An attempt that has not ended goes on while its process lives. When the process cannot be seen
/// from here, the heartbeat decides, which a RunWriter renews every two seconds.
inline constexpr double kHeartbeatLostSeconds = 120;
bool goes_on(const Lease& lease, double heartbeat_age_seconds);

/// An attempt that has not ended. Only the newest attempt of a run can be one.
struct OpenAttempt {
  std::int64_t id = 0;
  int number = 0;
  std::string run;  // its id
  std::int64_t run_number = 0;
  std::string started;
  Lease lease;
  bool goes_on = false;  // else its process is gone
};
/// What to do about one that goes on, for the end of a message. A process may have ended since, and
/// execute another run; one on another host may be gone although it does not seem so.
std::string how_to_end(const OpenAttempt& attempt);
/// The open attempts of all runs, or of the run with this number.
std::vector<OpenAttempt> open_attempts(const sqlite::Connection& connection,
                                       std::optional<std::int64_t> run = std::nullopt);

/// Opens the attempt again when another process took its process for gone (it was held up, or is
/// not visible there) and ended or verified what it had left. What the attempt records from now on
/// would break the seal, and the verification is of another state. Call it in a transaction in
/// which the attempt records something.
void go_on(const sqlite::Connection& connection, std::int64_t attempt);

/// Ends the run's open attempt, whose process vanished, at its last sign of life.
void end_vanished_attempt(const sqlite::Connection& connection, std::int64_t run);

// What a new attempt of a run does to the earlier ones: three functions for the transaction that
// adds the attempt. Superseded rows stay in the tables, but no query shows them any more.

/// Supersedes everything that was recorded so far.
void supersede_everything(const sqlite::Connection& connection, std::int64_t run);

/// Supersedes what was recorded after a checkpoint. Returns the checkpoint's position. Throws
/// StoreError when it is not a checkpoint of the run or was superseded itself.
Position supersede_after(const sqlite::Connection& connection, std::int64_t run,
                         const std::string& run_id, std::int64_t checkpoint);

/// Gives an attempt that continues others their last values of whole-run series, as series without
/// values of their own, so that a query for the newest values need only look at this attempt.
void carry_last_values(const sqlite::Connection& connection, std::int64_t run,
                       std::int64_t attempt);

/// Adds a checkpoint to an attempt of the run with this number: it holds what the attempt has in
/// the store by now. Marks superseded checkpoints of the run, and all others but the `keep` newest,
/// as removed, and returns the paths of their files. Belongs into the transaction that wrote the
/// attempt's values.
std::vector<std::string> add_checkpoint(const sqlite::Connection& connection, std::int64_t run,
                                        std::int64_t attempt, const CheckpointRecord& record,
                                        int keep);

/// As checkpoints_of().
std::vector<CheckpointRow> read_checkpoints(const sqlite::Connection& connection,
                                            const std::string& run_id);

/// Stores how the workers of an attempt spent their time, by worker, in the caller's transaction.
/// read_spans() reads it back.
void insert_spans(const sqlite::Connection& connection, std::int64_t attempt,
                  const std::vector<std::vector<Span>>& workers);

/// Ids of the runs that a living process executes.
std::unordered_set<std::string> live_runs(const sqlite::Connection& connection);
/// Ids of the runs with an attempt that has neither ended nor a living process.
std::unordered_set<std::string> dead_runs(const sqlite::Connection& connection);

/// An attempt that is not fully superseded: what it recorded up to a tick counts.
struct ValidAttempt {
  std::int64_t id = 0;
  std::int64_t valid_until_tick = 0;  // the largest number there is when all of it counts
};
/// The valid attempts of a run, oldest first: what counts of the run, one after the other.
std::vector<ValidAttempt> valid_attempts(const sqlite::Connection& connection,
                                         const std::string& run_id);

/// A run's place in an experiment.
struct SeenRun {
  std::string experiment, name, label;  // the experiment's id and name
  bool is_search = false;
};
/// The runs, by id, in the experiment through which each is shown: the first that was named, else
/// the largest, then the newest, of those whose runs are all asked for.
std::unordered_map<std::string, SeenRun> seen_runs(const sqlite::Connection& connection,
                                                   const AskedRuns& asked);
/// Gives the runs their places there; others keep those in their newest experiment.
void show_in(std::vector<RunSummary>& runs, const std::unordered_map<std::string, SeenRun>& seen);

/// The number of the run with this id, which the attempt executes. Throws StoreError when the
/// attempt may record nothing more: the run has a later attempt, or was removed (the attempt's
/// number may then be another run's).
std::int64_t run_of(const sqlite::Connection& connection, std::int64_t attempt,
                    const std::string& run_id);
/// Throws StoreError when the run was removed.
void refuse_if_removed(const sqlite::Connection& connection, std::int64_t attempt,
                       const std::string& run_id);

/// The column `special` beside a value (store/schema_1.sql).
int special_of(double value);

/// JSON as the store keeps it: compact, and valid even if a string in it was not UTF-8.
std::string json_text(const nlohmann::json& value);
/// What a column holds as JSON: an object, or null for JSON null. Otherwise throws the StoreError
/// of Statement::refuse(), which says `whose` row it is.
nlohmann::json stored_object(const sqlite::Statement& row, int column, std::string_view whose);
/// Lists: of whole numbers that are not negative; of any numbers; of texts.
std::vector<std::int64_t> stored_counts(const sqlite::Statement& row, int column,
                                        std::string_view whose);
std::vector<double> stored_reals(const sqlite::Statement& row, int column, std::string_view whose);
std::vector<std::string> stored_texts(const sqlite::Statement& row, int column,
                                      std::string_view whose);

/// The columns gradients, normalised_time, seconds and bytes, of which `column` is the first.
/// Throws as stored_object() does.
Position stored_position(const sqlite::Statement& row, int column, std::string_view whose);
/// Why a run cannot be looked up.
std::string no_such_run(const std::string& folder, const std::string& run_id);

/// Tags as the view run_list has them.
std::vector<std::string> words_of(const std::string& text);
/// Oldest first. `kind`: "run" or "experiment".
std::vector<NoteRow> notes_of(const sqlite::Connection& connection, const std::string& kind,
                              const std::string& id);

/// A state by its name. Throws as stored_object() does.
RunState stored_state(const sqlite::Statement& row, int column, std::string_view whose);

/// The id of a run, which becomes the name of a folder and a file: 12 digits of a digest. Throws
/// StoreError otherwise.
std::string stored_run_id(const sqlite::Statement& row, int column);

// The largest numbers in a sound store (recipes/ allows no larger ones, or a double holds no larger
// ones exactly).
inline constexpr std::int64_t kMostWorkers = 1'000'000;
inline constexpr std::int64_t kMostGradients = std::int64_t{1} << 53;
// The bound for any kind of row: ticks, chunks, values.
inline constexpr std::int64_t kMostRows = std::int64_t{1} << 40;
inline constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

}  // namespace acid
