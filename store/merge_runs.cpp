// The runs of one store in another one. What counts of a run is one execution of it with the
// attempts that it continued; all others are kept as superseded attempts. Which one counts, and
// which attempts are kept, follows from the set of attempts alone, so that the order of merging
// does not matter.
#include "store/merge_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>

#include "store/contents.hpp"
#include "store/files.hpp"
#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/rows.hpp"

namespace acid {
namespace {

/// What one of the stores has of a run.
struct RunSide {
  RunSide(const Connection& db, std::int64_t run_number)
      : connection(db),
        run(run_number),
        content(content_of_run(db, run_number)),
        left(db, run_number) {}
  const Connection& connection;
  std::int64_t run;
  RunContent content;
  SealedLeft left;
};

/// Whether a's execution counts rather than b's: what is as it was written, has come further, ended
/// earlier.
bool counts_before(const RunSide& a, const RunSide& b) {
  const auto rank = [](const RunSide& side) {
    constexpr std::array<std::string_view, 5> kStates{"", "interrupted", "failed", "diverged",
                                                      "finished"};
    return std::tuple(!side.content.attempts.empty(), side.left.is_sound(),
                      std::ranges::find(kStates, side.content.state) - kStates.begin(),
                      side.content.gradients);
  };
  const auto age = [](const RunSide& side) {
    return std::pair(side.content.attempts.empty() ? "" : side.content.attempts.back().ended,
                     side.content.counting);
  };
  return std::pair(rank(a), age(b)) > std::pair(rank(b), age(a));
}

// Rows.

enum class Copied { all, values, kept };  // all of it; not its checkpoints; nor its values

/// Inserts an attempt of `from` under a number that no other has yet. Returns its row number.
std::int64_t copy_attempt(MergeSides& sides, std::int64_t attempt, std::int64_t run,
                          const std::string& run_id, Copied copied) {
  static const std::set<std::string> kCheckpoints{"checkpoints", "cut_digests"};
  static const std::set<std::string> kValues{"ticks", "series", "points", "event_chunks",
                                             "artifacts"};
  const auto above = [&](const std::string& column, const std::string& table) {
    return fmt::format("{} + {}", column, sides.offsets.at(table));
  };
  for (const std::string& table : tables_of(sides.from)) {
    if (way_to_attempt(sides.from, table).empty() || table == "verifications") continue;
    if (copied != Copied::all && kCheckpoints.contains(table)) continue;
    if (copied == Copied::kept && kValues.contains(table)) continue;
    const auto value = [&](const std::string& column) -> std::string {
      if (column == "id") return above(column, table);
      if (column == "attempt") return above(column, "attempts");
      if (column == "series") return above(column, "series");
      if (column == "checkpoint") return above(column, "checkpoints");
      if (table == "checkpoints" && column == "removed") return "iif(superseded, created, removed)";
      if (column == "path" && (table == "checkpoints" || table == "artifacts"))
        return fmt::format("'checkpoints/{}/' || substr(sha256, 1, 32) || '.safetensors'", run_id);
      if (table != "attempts") return column;
      if (column == "run") return std::to_string(run);
      if (column == "number") return fmt::format("-id - {}", sides.offsets.at("attempts"));
      if (column == "seal") return "NULL";
      if (column == "resumed_from")
        return copied == Copied::all ? above(column, "checkpoints") : "NULL";
      if (copied != Copied::all && column.starts_with("valid_until")) return "0";
      return column;
    };
    copy_rows(sides.from, sides.to, table,
              rows_of_attempts(sides.from, table, "SELECT value FROM json_each(?1)"), value,
              fmt::format("[{}]", attempt));
  }
  return attempt + sides.offsets.at("attempts");
}

// Verifications, which runs get after they have ended.

struct Verified {
  std::string time, host, message, environment;
  std::int64_t equal = 0;
  std::optional<std::int64_t> checkpoint;  // its number
  std::string proof;                       // SealedLeft::kProven: of what was left there
  auto what() const { return std::tie(time, host, equal, message, environment); }
};

/// What a proof is of is there only if the attempt is the newest of what counts: `of_what_counts`.
void add_verifications(const RunSide& side, const AttemptContent& attempt, bool of_what_counts,
                       std::vector<Verified>& all) {
  Statement select(side.connection,
                   "SELECT v.time, v.host, v.message, v.environment, v.equal, c.number, v.proof"
                   " FROM verifications v LEFT JOIN checkpoints c ON c.id = v.checkpoint"
                   " WHERE v.attempt = ? ORDER BY v.id");
  const std::string proof = side.left.proof();
  for (select.bind(attempt.id); select.step();) {
    Verified one{select.text(0), select.text(1),    select.text(2),
                 select.text(3), select.integer(4), {},
                 select.text(6)};
    if (!select.is_null(5)) one.checkpoint = select.integer(5);
    if (!of_what_counts) one.proof = "";
    if (one.proof == proof) one.proof = SealedLeft::kProven;
    const auto known = std::ranges::find_if(
        all, [&](const Verified& other) { return other.what() == one.what(); });
    if (known == all.end())
      all.push_back(std::move(one));
    else if (one.proof == SealedLeft::kProven || known->proof.empty())
      *known = std::move(one);
  }
}

void put_verifications(const Connection& to, std::int64_t run, std::int64_t attempt,
                       std::vector<Verified> all) {
  std::ranges::sort(all, [](const Verified& a, const Verified& b) { return a.what() < b.what(); });
  Statement(to, "DELETE FROM verifications WHERE attempt = ?").bind(attempt).run();
  Statement insert(to,
                   "INSERT INTO verifications (attempt, time, host, equal, message, environment,"
                   " checkpoint, proof) VALUES (?, ?, ?, ?, ?, ?, (SELECT c.id FROM checkpoints c"
                   " JOIN attempts a ON a.id = c.attempt WHERE a.run = ? AND c.number = ?"
                   " AND c.superseded = 0), ?)");
  for (const Verified& one : all)
    insert
        .bind(attempt, one.time, one.host, one.equal, one.message, one.environment, run,
              one.checkpoint, one.proof.empty() ? std::nullopt : std::optional(one.proof))
        .run();
}

// One run.

/// An attempt that stays, and where it is now.
struct Kept {
  const AttemptContent* content = nullptr;
  bool is_theirs = false, counts = false;
  std::int64_t id = 0;  // in the target, once it is there
};

class RunMerge {
 public:
  RunMerge(MergeSides& sides, RunSide theirs, RunSide ours, std::string run_id)
      : sides_(sides), theirs_(std::move(theirs)), ours_(std::move(ours)), id_(std::move(run_id)) {
    is_same_ = theirs_.content.counting == ours_.content.counting;
    they_count_ = !is_same_ && counts_before(theirs_, ours_);
    choose();
  }

  void merge() {
    const auto [predicted, prediction_holds] = merge_prediction();
    if (theirs_.content.attempts.empty() && !predicted) return;
    std::vector<std::vector<Verified>> verified;
    for (const Kept& kept : kept_) verified.push_back(verifications_of(kept));
    if (changes()) place();
    for (std::size_t k = 0; k < kept_.size(); ++k)
      put_verifications(sides_.to, ours_.run, kept_[k].id, std::move(verified[k]));
    seals().seal_there(sides_.to, ours_.run, prediction_holds);
    tell();
  }
  bool they_count() const { return they_count_; }

 private:
  const RunSide& winner() const { return they_count_ ? theirs_ : ours_; }
  const SealedLeft& seals() const {
    const bool ours_do = ours_.left.is_sound() && !ours_.left.is_open();
    return is_same_ && !ours_do ? theirs_.left : winner().left;
  }
  bool changes() const {
    return they_count_ || std::ranges::any_of(kept_, &Kept::is_theirs) ||
           kept_.size() != ours_.content.attempts.size();
  }

  /// An attempt that was copied while it was under way is part of the same attempt later on.
  bool is_part_of_another(const AttemptContent& one) const {
    if (one.has_result) return false;
    const auto is_whole = [&](const AttemptContent& other) {
      return other.execution == one.execution &&
             std::tie(other.has_result, other.ended, other.kept) >
                 std::tie(one.has_result, one.ended, one.kept);
    };
    return std::ranges::any_of(theirs_.content.attempts, is_whole) ||
           std::ranges::any_of(ours_.content.attempts, is_whole);
  }

  void choose() {
    std::set<std::string> known;
    std::vector<Kept> counting;
    for (const AttemptContent& one : winner().content.attempts)
      if (one.counts && known.insert(one.kept).second)
        counting.push_back({&one, they_count_, true, one.id});
    for (const RunSide* const side : {&ours_, &theirs_})
      for (const AttemptContent& one : side->content.attempts)
        if (!known.contains(one.kept) && !is_part_of_another(one)) {
          known.insert(one.kept);
          kept_.push_back({&one, side == &theirs_, false, one.id});
        }
    std::ranges::sort(kept_, [](const Kept& a, const Kept& b) {
      return std::tie(a.content->started, a.content->kept) <
             std::tie(b.content->started, b.content->kept);
    });
    kept_.insert(kept_.end(), counting.begin(), counting.end());
  }

  std::vector<Verified> verifications_of(const Kept& kept) const {
    std::vector<Verified> all;
    for (const RunSide* const side : {&ours_, &theirs_})
      for (const AttemptContent& one : side->content.attempts)
        if (one.kept == kept.content->kept)
          add_verifications(*side, one,
                            side->content.counting == winner().content.counting &&
                                &one == &side->content.attempts.back(),
                            all);
    return all;
  }

  void place() {
    const Connection& to = sides_.to;
    if (they_count_) supersede_ours();
    std::vector<std::int64_t> gone;
    for (const AttemptContent& one : ours_.content.attempts)
      if (!std::ranges::any_of(
              kept_, [&](const Kept& kept) { return !kept.is_theirs && kept.content == &one; }))
        gone.push_back(one.id);
    for (Kept& kept : kept_)
      if (kept.is_theirs) kept.id = copy(kept);
    note_files_of(gone);
    delete_attempts(to, "SELECT value FROM json_each(?1)", nlohmann::json(gone).dump());
    Statement(to, "UPDATE attempts SET number = -id WHERE run = ?").bind(ours_.run).run();
    Statement number(to, "UPDATE attempts SET number = ? WHERE id = ?");
    for (std::size_t k = 0; k < kept_.size(); ++k) number.bind(k + 1, kept_[k].id).run();
  }

  void supersede_ours() {
    end_vanished_attempt(sides_.to, ours_.run);
    Statement(sides_.to,
              "UPDATE attempts SET valid_until_tick = 0, valid_until_chunk = 0, seal = NULL,"
              " resumed_from = NULL WHERE run = ?")
        .bind(ours_.run)
        .run();
    Statement(sides_.to,
              "UPDATE checkpoints SET superseded = 1 WHERE attempt IN"
              " (SELECT id FROM attempts WHERE run = ?)")
        .bind(ours_.run)
        .run();
  }

  std::int64_t copy(const Kept& kept) {
    // The values of an execution that ended otherwise stay readable until acid gc.
    const bool differs = kept.content->counts && !kept.counts && !is_equal();
    const Copied copied = kept.counts ? Copied::all : differs ? Copied::values : Copied::kept;
    const std::int64_t attempt = copy_attempt(sides_, kept.content->id, ours_.run, id_, copied);
    if (kept.counts)
      copy_checkpoints(sides_, id_, kept.content->id, theirs_.content.state == "finished");
    else
      Statement(sides_.to,
                "UPDATE attempts AS a SET (ended, outcome, message) = (SELECT " ACID_HOW_IT_ENDED
                ") WHERE id = ?")
          .bind(attempt)
          .run();
    if (kept.counts || differs) copy_models(sides_, id_, kept.content->id);
    return attempt;
  }

  void note_files_of(const std::vector<std::int64_t>& attempts) {
    Statement paths(sides_.to,
                    "SELECT path FROM checkpoints WHERE attempt = ?1 AND removed IS NULL"
                    " UNION SELECT path FROM artifacts WHERE attempt = ?1 AND removed IS NULL");
    for (const std::int64_t attempt : attempts)
      for (paths.bind(attempt); paths.step();)
        if (is_checkpoint_path(paths.text(0))) sides_.unnamed.push_back(paths.text(0));
  }

  /// The prediction that was made first. Returns whether it is theirs, and whether the one that is
  /// there now is as it was written.
  std::pair<bool, bool> merge_prediction() {
    const auto made_by = [](const RunSide& side) {
      Statement made(side.connection, "SELECT made FROM predictions WHERE run = ?");
      const bool is_there = made.bind(side.run).step();
      return std::tuple(is_there, is_there && side.left.holds(kPredictionPart),
                        is_there ? made.text(0) : "",
                        content_of_rows(side.connection, "predicted_values", "run = ?", side.run));
    };
    const auto [they_have, they_hold, their_time, their_values] = made_by(theirs_);
    const auto [we_have, we_hold, our_time, our_values] = made_by(ours_);
    const bool take = they_have && (!we_have || std::tuple(!they_hold, their_time, their_values) <
                                                    std::tuple(!we_hold, our_time, our_values));
    if (!take) return {false, we_have ? we_hold : winner().left.holds(kPredictionPart)};
    for (const char* const table : {"predicted_values", "predictions"}) {
      Statement(sides_.to, fmt::format("DELETE FROM {} WHERE run = ?", table))
          .bind(ours_.run)
          .run();
      copy_rows(
          sides_.from, sides_.to, table, "run = ?",
          [&](const std::string& column) {
            return column == "run" ? std::to_string(ours_.run) : column;
          },
          theirs_.run);
    }
    return {true, they_hold};
  }

  bool is_equal() const {
    return !theirs_.content.results.empty() && theirs_.content.results == ours_.content.results;
  }

  void tell() {
    // An attempt of both that the other one continued is no second execution.
    if (is_same_ || theirs_.content.results.empty() || ours_.content.results.empty()) return;
    ExecutedTwice twice{id_, sides_.from_folder, is_equal(), they_count_, ""};
    const bool is_one = theirs_.content.attempts.back().kept == ours_.content.attempts.back().kept;
    twice.what = fmt::format(
        "run {} {} {}: {}", id_,
        is_one       ? "has other values in"
        : is_equal() ? "was executed in"
                     : "ended otherwise in",
        sides_.from_folder,
        is_one ? fmt::format("the record {} counts, the other one is left out",
                             they_count_ ? "from there" : "here")
               : fmt::format("its execution {} counts, the other one is kept as a superseded "
                             "attempt{}",
                             they_count_ ? "from there" : "here",
                             is_equal() ? "; their final digests are equal" : ""));
    twice.equal = twice.equal && !is_one;
    sides_.report.twice.push_back(std::move(twice));
  }

  MergeSides& sides_;
  RunSide theirs_, ours_;
  std::string id_;
  bool is_same_ = false, they_count_ = false;
  std::vector<Kept> kept_;  // superseded ones first
};

}  // namespace

std::map<std::string, std::int64_t> offsets_above(const Connection& to) {
  std::map<std::string, std::int64_t> offsets;
  for (const std::string& table : tables_of(to)) {
    if (way_to_attempt(to, table).empty()) continue;
    const std::vector<std::string> columns = columns_of(to, table);
    if (std::ranges::find(columns, "id") == columns.end()) continue;
    offsets[table] = one_number(to, fmt::format("SELECT max(id) FROM {}", table));
  }
  return offsets;
}

void merge_run(MergeSides& sides, std::int64_t run) {
  Statement find(sides.from, "SELECT id, digest FROM runs WHERE number = ?");
  find.bind(run).step();
  const std::string id = stored_run_id(find, 0), digest = find.text(1);
  Statement same_id(sides.to, "SELECT digest FROM runs WHERE id = ?");
  const bool is_known = same_id.bind(id).step();
  if (is_known && same_id.text(0) != digest)
    throw StoreError(fmt::format(
        "run {} of the store {} is another one than run {} of the store {}, with the same id: "
        "nothing was merged",
        id, sides.from_folder, id, sides.to_folder));
  const std::int64_t number = merge_row(sides, run, digest);
  RunMerge merge(sides, RunSide(sides.from, run), RunSide(sides.to, number), id);
  merge.merge();
  ++(!is_known            ? sides.report.runs_added
     : merge.they_count() ? sides.report.runs_completed
                          : sides.report.runs_known);
}

}  // namespace acid
