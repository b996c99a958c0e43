#include "store/merge.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>

#include "engine/base/names.hpp"
#include "store/at_work.hpp"
#include "store/contents.hpp"
#include "store/impl.hpp"
#include "store/merge_runs.hpp"
#include "store/proof.hpp"
#include "store/rows.hpp"
#include "store/upkeep.hpp"

namespace acid {
namespace fs = std::filesystem;
namespace {

void refuse_while_written(const Store& store) {
  for (const OpenAttempt& attempt : open_attempts(store.impl().connection()))
    if (attempt.goes_on)
      throw StoreError(fmt::format(
          "process {} on host {} executes run {} of the store {} since {}: nothing was merged; {}",
          attempt.lease.pid, attempt.lease.host, attempt.run, store.folder(), attempt.started,
          how_to_end(attempt)));
  const auto runs = runs_at_work(store.folder());
  if (!runs.empty())
    throw StoreError(fmt::format(
        "a process goes on with run {} of the store {}: nothing was merged. Wait for it, or stop "
        "it, and try again",
        *runs.begin(), store.folder()));
}

/// A definition of an experiment in a store.
struct Definition {
  std::int64_t number = 0;
  bool sound = false, chosen = false;  // chosen: it has no search, or the search has chosen
  std::string created, content, first_asked;
};

std::optional<Definition> definition_of(const Connection& connection, const std::string& id) {
  Statement find(connection,
                 "SELECT number, search NOTNULL, created, coalesce(first_asked, created)"
                 " FROM experiments WHERE id = ?");
  if (!find.bind(id).step()) return std::nullopt;
  Definition found{find.integer(0), false, find.integer(1) != 0, find.text(2), "", find.text(3)};
  find.reset();
  found.sound = broken_experiment(connection, found.number).empty();
  found.content = content_of_experiment(connection, found.number);
  return found;
}

bool is_newer(const Definition& a, const Definition& b) {
  const auto rank = [](const Definition& one) {
    return std::tie(one.sound, one.chosen, one.created, one.content);
  };
  return rank(a) > rank(b);
}

void insert_experiment(const Connection& from, const Connection& to, const Definition& one) {
  copy_rows(
      from, to, "experiments", "number = ?1",
      [](const std::string& column) { return column == "number" ? "NULL" : column; }, one.number);
  const std::int64_t number = to.last_insert_id();
  Statement members(from,
                    "SELECT m.position, r.digest, m.label, m.role, m.seal FROM experiment_runs m"
                    " JOIN runs r ON r.number = m.run WHERE m.experiment = ? ORDER BY m.position");
  Statement insert(to,
                   "INSERT INTO experiment_runs (experiment, position, run, label, role, seal)"
                   " VALUES (?6, ?1, (SELECT number FROM runs WHERE digest = ?2), ?3, ?4, ?5)");
  for (members.bind(one.number); members.step();)
    insert.bind_row(members).bind_from(6, number).run();
}

void take_over(const MergeSides& sides, const Definition& theirs,
               const std::optional<Definition>& ours) {
  if (!ours) {
    ++sides.report.experiments_added;
  } else {
    Statement(sides.to, "DELETE FROM experiments WHERE number = ?").bind(ours->number).run();
    if (ours->content != theirs.content) ++sides.report.experiments_renewed;
  }
  insert_experiment(sides.from, sides.to, theirs);
}

std::set<std::string> members_of(const Connection& connection, std::int64_t experiment) {
  const auto digests = texts(connection,
                             "SELECT r.digest FROM experiment_runs m JOIN runs r"
                             " ON r.number = m.run WHERE m.experiment = ?",
                             experiment);
  return {digests.begin(), digests.end()};
}

/// Says so where runs of the older definition are none of the newer one's, as after a change of a
/// file that the recipe reads.
void tell_apart(const MergeSides& sides, const std::string& id, const Definition& ours,
                const Definition& theirs, bool is_theirs) {
  const auto of_ours = members_of(sides.to, ours.number);
  const auto of_theirs = members_of(sides.from, theirs.number);
  const std::set<std::string>& older = is_theirs ? of_ours : of_theirs;
  const std::set<std::string>& newer = is_theirs ? of_theirs : of_ours;
  const auto lost = std::ranges::count_if(
      older, [&](const std::string& digest) { return !newer.contains(digest); });
  if (lost > 0)
    sides.report.apart.push_back(fmt::format(
        "experiment {} has other runs in {}: the newer definition counts, and {} of the older one "
        "{} no longer in it",
        id, sides.from_folder, counted(static_cast<std::uint64_t>(lost), "run"),
        lost == 1 ? "is" : "are"));
}

/// Returns the ids of experiments whose seals have to hold at the end: `sound` with those that
/// came.
void merge_experiments(const MergeSides& sides, std::set<std::string>& sound) {
  for (const std::string& id :
       texts(sides.from, "SELECT id FROM experiments ORDER BY created, id")) {
    const std::optional<Definition> theirs = definition_of(sides.from, id);
    const std::optional<Definition> ours = definition_of(sides.to, id);
    const bool is_theirs = !ours || is_newer(*theirs, *ours);
    if (ours) tell_apart(sides, id, *ours, *theirs, is_theirs);
    if (is_theirs) take_over(sides, *theirs, ours);
    if (is_theirs && theirs->sound)
      sound.insert(id);
    else if (is_theirs)
      sound.erase(id);
    if (ours && ours->sound && theirs->sound)
      Statement(sides.to, "UPDATE experiments SET first_asked = ? WHERE id = ?")
          .bind(std::min(ours->first_asked, theirs->first_asked), id)
          .run();
  }
}

void merge_tags(const MergeSides& sides) {
  Statement tags(sides.from, "SELECT kind, id, tag, added FROM tags");
  Statement add(sides.to,
                "INSERT INTO tags VALUES (?, ?, ?, ?) ON CONFLICT (kind, id, tag) DO UPDATE"
                " SET added = min(added, excluded.added)");
  while (tags.step()) add.bind_row(tags).run();
  Statement notes(sides.from, "SELECT kind, id, time, text FROM notes");
  Statement note(sides.to, "INSERT OR IGNORE INTO notes VALUES (?, ?, ?, ?)");
  while (notes.step()) note.bind_row(notes).run();
}

/// The largest number is the newest experiment: by when it was asked for, then by id.
void number_by_age(const Connection& to) {
  const std::vector<std::int64_t> by_age =
      numbers(to, "SELECT number FROM experiments ORDER BY created, id");
  if (std::ranges::is_sorted(by_age)) return;
  std::int64_t next = *std::ranges::max_element(by_age);
  Statement experiment(to, "UPDATE experiments SET number = ? WHERE number = ?");
  Statement members(to, "UPDATE experiment_runs SET experiment = ? WHERE experiment = ?");
  for (const std::int64_t number : by_age) {
    members.bind(++next, number).run();
    experiment.bind(next, number).run();
  }
  Statement(to, "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'experiments'")
      .bind(next)
      .run();
}

std::set<std::string> sound_experiments(const Connection& connection) {
  std::set<std::string> sound;
  for (const std::int64_t number : numbers(connection, "SELECT number FROM experiments"))
    if (broken_experiment(connection, number).empty())
      sound.insert(
          texts(connection, "SELECT id FROM experiments WHERE number = ?", number).front());
  return sound;
}

void seal_again(const Connection& to, const std::set<std::string>& sound) {
  Statement find(to, "SELECT number FROM experiments WHERE id = ?");
  for (const std::string& id : sound)
    if (find.bind(id).step()) seal_experiment(to, find.integer(0));
}

/// One merge of several stores into one.
class Merge {
 public:
  Merge(Store& target, const std::vector<std::string>& folders, const MergeDone& done)
      : target_(target), done_(done) {
    for (const std::string& folder : folders) {
      stores_.emplace_back(folder, Store::Access::read);
      std::error_code ignored;
      if (fs::equivalent(folder, target.folder(), ignored))
        throw UsageError(fmt::format("{} is the store into which others are to be merged", folder));
      done_(0, 0);
      refuse_if_damaged(stores_.back().impl().connection(), "quick_check");
    }
  }

  MergeReport run() {
    const Connection& to = target_.impl().connection();
    try {
      Transaction transaction(to, Transaction::Kind::write);
      to.execute("PRAGMA defer_foreign_keys = ON");
      refuse_while_written(target_);
      bool lists = lists_are_sealed(to), tags = tags_are_sealed(to);
      std::set<std::string> sound = sound_experiments(to);
      for (const Store& store : stores_)
        runs_ += numbers(store.impl().connection(), "SELECT number FROM runs").size();
      for (const Store& store : stores_) {
        const Transaction one_view(store.impl().connection(), Transaction::Kind::read);
        refuse_while_written(store);  // a process that begins later is not in this view
        merge_one(store, sound);
        lists = hold(store, lists_are_sealed(store.impl().connection()), kBrokenLists) && lists;
        tags = hold(store, tags_are_sealed(store.impl().connection()), kBrokenTags) && tags;
      }
      number_by_age(to);
      seal_again(to, sound);
      if (lists) seal_lists(to);
      if (tags && !texts(to, "SELECT 1 FROM tags UNION ALL SELECT 1 FROM notes LIMIT 1").empty())
        seal_tags(to);
      transaction.commit();
    } catch (...) {
      remove_written();
      throw;
    }
    remove_unnamed(target_.folder(), to, unnamed_);
    return std::move(report_);
  }

 private:
  bool hold(const Store& store, bool holds, const char* broken) {
    if (!holds) report_.broken.push_back(fmt::format("{}: {}", store.folder(), broken));
    return holds;
  }
  void merge_one(const Store& store, std::set<std::string>& sound) {
    const Connection& to = target_.impl().connection();
    MergeSides sides{store.impl().connection(), to,      store.folder(), target_.folder(),
                     offsets_above(to),         report_, written_,       unnamed_};
    for (const std::int64_t run :
         numbers(sides.from, "SELECT number FROM runs ORDER BY created, id")) {
      merge_run(sides, run);
      done_(++looked_at_, runs_);
    }
    merge_experiments(sides, sound);
    merge_tags(sides);
  }
  void remove_written() noexcept {
    try {
      remove_unnamed(target_.folder(), target_.impl().connection(), written_);
    } catch (const std::exception&) {  // then they are orphans, which acid gc removes
    }
  }

  Store& target_;
  const MergeDone& done_;
  std::vector<Store> stores_;
  MergeReport report_;
  std::vector<std::string> written_, unnamed_;
  std::size_t runs_ = 0, looked_at_ = 0;
};

}  // namespace

MergeReport merge_stores(Store& target, const std::vector<std::string>& folders,
                         const MergeDone& done) {
  return Merge(target, folders, done).run();
}

}  // namespace acid
