#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "store/impl.hpp"
#include "store/maintenance.hpp"
#include "store/proof.hpp"
#include "store/queries.hpp"
#include "store/select.hpp"
#include "store/upkeep.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

using Findings = std::vector<StoreFinding>;

struct BadFile {
  NamedFile file;
  std::string what;
  enum class Harm {
    missing,
    altered,     // the file's original content is lost
    foreign,     // another kind of file is in its place
    unreadable,  // the content may be as written: permissions forbid reading it
  };
  Harm harm = Harm::missing;
};
using Harm = BadFile::Harm;

std::optional<BadFile> check_file(const std::string& folder, const NamedFile& file) {
  const auto bad = [&](std::string what, Harm harm) {
    return BadFile{file, fmt::format("{}: {} {}", file.title, file.path, what), harm};
  };
  if (!is_checkpoint_path(file.path)) return bad("is not a path under checkpoints/", Harm::foreign);
  const FileLook look = look_at_file(folder, file.path);
  switch (look.is) {
    case FileLook::Is::missing:
      return bad("is missing", Harm::missing);
    case FileLook::Is::foreign:
      return bad("is not a plain file, or reached through a symbolic link", Harm::foreign);
    case FileLook::Is::unreadable:
      return bad(fmt::format("cannot be read: {}", look.reason), Harm::unreadable);
    case FileLook::Is::plain:
      break;
  }
  if (look.bytes != file.bytes)
    return bad(fmt::format("has {} bytes; {} were written", look.bytes, file.bytes), Harm::altered);
  try {
    if (digest_of_file(folder, file.path) != file.sha256)
      return bad("was altered: it does not have the recorded SHA-256", Harm::altered);
  } catch (const StoreError& error) {
    return bad(fmt::format("cannot be read ({})", error.what()), Harm::unreadable);
  }
  return std::nullopt;
}

/// Files that may still be needed and that are not as they were written.
std::vector<BadFile> bad_files(const std::string& folder, const Connection& connection) {
  std::vector<BadFile> found;
  for (const NamedFile& file : named_files(connection)) {
    if (file.superseded) continue;
    if (std::optional<BadFile> bad = check_file(folder, file)) found.push_back(std::move(*bad));
  }
  if (found.empty()) return found;
  // Reading takes a while, and runs let go of files meanwhile.
  using Row = std::tuple<NamedFile::Kind, std::int64_t, std::int64_t>;
  std::set<Row> still;
  for (const NamedFile& file : named_files(connection))
    if (!file.superseded) still.insert(Row(file.kind, file.id, file.position));
  std::erase_if(found, [&](const BadFile& bad) {
    return still.count(Row(bad.file.kind, bad.file.id, bad.file.position)) == 0;
  });
  return found;
}

bool can_be_let_go_of(const BadFile& bad) {
  return bad.harm == Harm::altered && bad.file.kind == NamedFile::Kind::checkpoint &&
         !bad.file.live;
}

/// Says which checkpoints remain to a run when one of them cannot be used.
std::string what_is_left(const NamedFile& lost, const std::vector<NamedFile>& named,
                         const std::vector<BadFile>& bad) {
  if (lost.finished) return "the run has finished and needs no checkpoint";
  std::set<std::int64_t> usable;
  for (const NamedFile& file : named)
    if (file.kind == lost.kind && file.run == lost.run && !file.superseded)
      usable.insert(file.number);
  for (const BadFile& one : bad)
    if (one.file.kind == lost.kind && one.file.run == lost.run) usable.erase(one.file.number);
  if (usable.empty())
    return "the run has no other checkpoint that can be used: it would have to start again";
  return fmt::format("the run would go on from checkpoint {}{}", *usable.rbegin(),
                     usable.size() == 1 ? ", the only one left" : "");
}

std::string remedy_for(const BadFile& bad, const std::string& left) {
  const NamedFile& file = bad.file;
  if (can_be_let_go_of(bad)) return "repairing notes it as removed; " + left;
  if (bad.harm == Harm::unreadable) return "check its permissions";
  if (bad.harm == Harm::foreign) return "acid will not touch it; put the file itself in its place";
  if (file.live) return "the run is being executed; look again when it has ended";
  if (file.kind == NamedFile::Kind::checkpoint) return "put it back; without it " + left;
  return "put a copy in its place, or run the recipe again with --force";
}

/// "attempt 2 of run 1a2b, whose process 123 on host a is gone".
std::string describe(const OpenAttempt& attempt) {
  return fmt::format("attempt {} of run {}, whose process {} on host {} is gone", attempt.number,
                     attempt.run, attempt.lease.pid, attempt.lease.host);
}

constexpr const char* kAltered =
    "the database was altered outside acid; go back to a copy of the folder";

/// Adds what `look` finds. A part that cannot be read because the database is damaged is itself a
/// finding.
void add(Findings& findings, const char* what, const std::function<void(Findings&)>& look) {
  try {
    look(findings);
  } catch (const SqliteError& error) {
    if (error.locked()) throw;
    findings.push_back({fmt::format("cannot look at {}: {}", what, error.what()),
                        sqlite::kSaveWhatCanBeRead, false});
  } catch (const StoreError& error) {
    findings.push_back({fmt::format("cannot look at {}: {}", what, error.what()), kAltered, false});
  }
}

void look_at_references(const Connection& connection, Findings& findings) {
  std::map<std::pair<std::string, std::string>, int> rows;
  Statement check(connection, "PRAGMA foreign_key_check");
  while (check.step()) ++rows[{check.text(0), check.text(2)}];
  for (const auto& [tables, count] : rows)
    findings.push_back({fmt::format("{} row(s) of the table {} refer to rows of {} that do not "
                                    "exist",
                                    count, tables.first, tables.second),
                        kAltered, false});
}

void look_at_attempts(const Connection& connection, Findings& findings) {
  for (const OpenAttempt& attempt : open_attempts(connection))
    if (!attempt.goes_on)
      findings.push_back({describe(attempt) + ", was never ended",
                          "repairing ends it as interrupted; 'acid resume' continues the run",
                          true});
}

void look_at_files(const std::string& folder, const Connection& connection, Findings& findings) {
  // The rows are read first: a file that a run names meanwhile is too young to be an orphan.
  const std::unordered_set<std::string> live = live_runs(connection);
  const std::vector<NamedFile> named = named_files(connection);
  const SpareFiles spare = spare_files(connection);
  const std::vector<ListedFile> files = list_checkpoint_folder(folder);
  std::unordered_set<std::string> names;
  for (const NamedFile& file : named) names.insert(file.path);
  bool linked = false;
  for (const auto& [path, look] : files) {
    if (names.count(path) > 0 || look.is == FileLook::Is::plain) continue;
    linked = linked || path == "checkpoints";
    const bool foreign = look.is == FileLook::Is::foreign;
    findings.push_back(
        {foreign
             ? fmt::format("{} is a symbolic link or another thing that acid does not make", path)
             : fmt::format("{} cannot be read: {}", path, look.reason),
         foreign ? "acid neither follows nor removes it; put plain files and folders in its place"
                 : "check its permissions",
         false});
  }
  if (linked) return;  // otherwise every file behind the link would be one more finding
  const std::vector<BadFile> bad = bad_files(folder, connection);
  for (const BadFile& one : bad)
    findings.push_back(
        {one.what, remedy_for(one, what_is_left(one.file, named, bad)), can_be_let_go_of(one)});
  for (const Leftover& file : orphans(named, spare, files, live))
    findings.push_back({fmt::format("{} ({} bytes): {}", file.path, file.bytes, file.why),
                        "repairing deletes it", true});
}

// Only the newest verification of a run's newest attempt concerns the present state.
bool differs_from_verified(const Connection& connection, std::int64_t run, const Left& left) {
  Statement select(connection,
                   "SELECT proof FROM verifications WHERE equal AND proof IS NOT NULL"
                   " AND id = (SELECT max(v.id) FROM verifications v JOIN attempts a"
                   "  ON a.id = v.attempt WHERE a.run = ?1"
                   "  AND a.number = (SELECT max(number) FROM attempts WHERE run = ?1))");
  return select.bind(run).step() && select.text(0) != proof_of(left);
}

// Checks the rows that lists, comparisons and reports print.
void look_at_seals(const Connection& connection, Findings& findings) {
  const auto found = [&](std::string what) {
    findings.push_back({std::move(what), kAltered, false});
  };
  const auto rows = [&](const char* query) {
    std::vector<std::pair<std::int64_t, std::string>> all;
    for (Statement select(connection, query); select.step();)
      all.emplace_back(select.integer(0), select.text(1));
    return all;
  };
  {
    const Transaction one_view(connection, Transaction::Kind::read);
    if (!lists_are_sealed(connection)) found(kBrokenLists);
    if (!tags_are_sealed(connection)) found(kBrokenTags);
    for (const auto& [number, id] : rows("SELECT number, id FROM experiments ORDER BY number"))
      for (std::string& broken : broken_experiment(connection, number)) found(std::move(broken));
  }
  for (const auto& [number, id] : rows("SELECT number, id FROM runs ORDER BY number")) {
    const Transaction one_view(connection, Transaction::Kind::read);
    const Left left = left_of(connection, number);
    std::vector<std::string> broken = broken_run(connection, number, left);
    if (broken.empty() && differs_from_verified(connection, number, left))
      broken.push_back(kNotWhatWasVerified);
    for (const std::string& one : broken) found(fmt::format("run {}: {}", id, one));
  }
}

// Finds values that readers refuse, and summaries, which lists and comparisons read, that disagree
// with their values.
void look_at_runs(const Store& store, Findings& findings) {
  const std::int64_t nowhere =
      one_number(store.impl().connection(),
                 "SELECT count(*) FROM ticks WHERE gradients < 0 OR gradients > ? OR bytes < 0",
                 kMostGradients);
  if (nowhere > 0)
    findings.push_back(
        {fmt::format("{} sample(s) are said to be where no run can have been", nowhere), kAltered,
         false});
  std::vector<std::string> runs;
  Statement ids(store.impl().connection(), "SELECT id FROM runs ORDER BY number");
  while (ids.step()) runs.push_back(stored_run_id(ids, 0));
  for (const std::string& run : runs)
    add(findings, "a run", [&](Findings& into) {
      experiment_of(store, run_detail(store, run).summary.experiment);
      read_spans(store, run);
      for (const std::string& wrong : wrong_summaries(store, run))
        into.push_back({fmt::format("run {}: {}", run, wrong), kAltered, false});
    });
}

// Uses a transaction for each attempt, so that the writers of other runs wait for one at most.
void end_stale_attempts(const Connection& connection, std::vector<std::string>& done) {
  for (const OpenAttempt& found : open_attempts(connection)) {
    if (found.goes_on) continue;
    Transaction transaction(connection, Transaction::Kind::write);
    const std::vector<OpenAttempt> now = open_attempts(connection, found.run_number);
    // another process has ended it or goes on with it
    if (now.empty() || now.front().goes_on) continue;
    const ChangeOfLeft change(connection, found.run_number, kExecutionPart);
    end_vanished_attempt(connection, found.run_number);
    change.made();
    transaction.commit();
    done.push_back("ended as interrupted: " + describe(now.front()));
  }
}

void let_go_of_altered_checkpoints(const std::string& folder, const Connection& connection,
                                   std::vector<std::string>& done) {
  // takes long, so it is done without the lock
  const std::vector<BadFile> bad = bad_files(folder, connection);
  Transaction transaction(connection, Transaction::Kind::write);
  const std::unordered_set<std::string> live = live_runs(connection);
  Statement remove(connection,
                   "UPDATE checkpoints SET removed = ? WHERE id = ? AND removed IS NULL");
  for (const BadFile& one : bad) {
    if (!can_be_let_go_of(one) || live.count(one.file.run) > 0) continue;
    remove.bind(utc_now(), one.file.id).run();
    if (connection.changes() == 1) done.push_back("noted as removed: " + one.what);
  }
  transaction.commit();
}

void remove_orphans(const std::string& folder, const Connection& connection,
                    std::vector<std::string>& done) {
  std::vector<std::string> paths;
  std::map<std::string, Leftover> by_path;
  const std::unordered_set<std::string> live = live_runs(connection);
  const std::vector<NamedFile> named = named_files(connection);
  const SpareFiles spare = spare_files(connection);
  for (Leftover& file : orphans(named, spare, list_checkpoint_folder(folder), live)) {
    paths.push_back(file.path);
    by_path.emplace(file.path, std::move(file));
  }
  for (const std::string& path : remove_unnamed(folder, connection, paths)) {
    const Leftover& file = by_path.at(path);
    done.push_back(fmt::format("deleted: {} ({} bytes): {}", path, file.bytes, file.why));
  }
}

}  // namespace

void look_at_files(const Store& store, RunDetail& run) {
  if (run.verifications.empty()) return;
  std::string altered, unreadable;  // the first of each
  for (const NamedFile& file : named_files(store.impl().connection())) {
    if (file.superseded || file.run != run.summary.id) continue;
    const std::optional<BadFile> bad = check_file(store.folder(), file);
    if (!bad || bad->harm == Harm::missing) continue;
    std::string& first = bad->harm == Harm::unreadable ? unreadable : altered;
    if (first.empty()) first = bad->what;
  }
  for (VerificationRow& row : run.verifications) {
    if (row.altered.empty()) row.altered = altered;
    row.unreadable = unreadable;
  }
}

Findings inspect_store(const Store& store) {
  const Connection& connection = store.impl().connection();
  Findings findings;
  for (const std::string& line : damage(connection, "integrity_check"))
    findings.push_back({"the database is damaged: " + line, sqlite::kSaveWhatCanBeRead, false});
  const bool sound = findings.empty();
  add(findings, "references between tables",
      [&](Findings& into) { look_at_references(connection, into); });
  add(findings, "attempts", [&](Findings& into) { look_at_attempts(connection, into); });
  add(findings, "files", [&](Findings& into) { look_at_files(store.folder(), connection, into); });
  add(findings, "runs", [&](Findings& into) { look_at_runs(store, into); });
  add(findings, "seals", [&](Findings& into) { look_at_seals(connection, into); });
  if (!sound)
    for (StoreFinding& finding : findings) {
      // If rows were lost, files that are needed look like orphans.
      if (finding.repairable) finding.remedy = "nothing is repaired while the database is damaged";
      finding.repairable = false;
    }
  return findings;
}

std::vector<std::string> repair_store(Store& store) {
  ACID_ASSERT(store.impl().writing, "the store {} is open for reading", store.folder());
  const Connection& connection = store.impl().connection();
  refuse_if_damaged(connection, "integrity_check");
  std::vector<std::string> done;
  end_stale_attempts(connection, done);
  let_go_of_altered_checkpoints(store.folder(), connection, done);
  remove_orphans(store.folder(), connection, done);
  return done;
}

}  // namespace acid
