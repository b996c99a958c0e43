#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/row_digest.hpp"
#include "store/rows.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr const char* kSealedOfRun =
    "SELECT number, id, digest, group_digest, algorithm, seed, driver, topology, workers,"
    " budget_gradients, settings, plan, created FROM runs WHERE number = ?1";
constexpr const char* kSealedOfExperiment =
    "SELECT number, id, name, recipe_path, recipe_text, recipe_digest, overrides, command_line,"
    " created, search, comparison FROM experiments WHERE number = ?1";
// Stores of version 11 and before have none.
constexpr const char* kFirstAsked =
    "SELECT first_asked FROM experiments WHERE number = ?1 AND first_asked NOTNULL";
constexpr const char* kSealedOfMembers =
    "SELECT m.position, r.digest FROM experiment_runs m JOIN runs r ON r.number = m.run"
    " WHERE m.experiment = ?1 ORDER BY m.position";
constexpr const char* kSealedOfMember =
    "SELECT e.id, m.position, r.digest, m.label, m.role FROM experiment_runs m"
    " JOIN experiments e ON e.number = m.experiment JOIN runs r ON r.number = m.run"
    " WHERE m.experiment = ?1 AND m.position = ?2";
// The newest attempt of run ?1.
constexpr const char* kNewestAttempt =
    "FROM attempts WHERE run = ?1 AND number = (SELECT max(number) FROM attempts WHERE run = ?1)";

template <class... Keys>
std::string digest_of(const Connection& connection, std::initializer_list<const char*> queries,
                      const Keys&... keys) {
  RowDigest digest(connection);
  for (const char* query : queries) digest.add(query, keys...);
  return digest.hex();
}

std::string digest_of_run(const Connection& connection, std::int64_t run) {
  return digest_of(connection, {kSealedOfRun}, run);
}
std::string digest_of_experiment(const Connection& connection, std::int64_t experiment) {
  return texts(connection, kFirstAsked, experiment).empty()
             ? digest_of(connection, {kSealedOfExperiment, kSealedOfMembers}, experiment)
             : digest_of(connection, {kSealedOfExperiment, kSealedOfMembers, kFirstAsked},
                         experiment);
}
std::string digest_of_member(const Connection& connection, std::int64_t experiment,
                             std::int64_t position) {
  return digest_of(connection, {kSealedOfMember}, experiment, position);
}
std::string digest_of_lists(const Connection& connection) {
  return digest_of(connection, {"SELECT number, id FROM experiments ORDER BY number",
                                "SELECT number, digest FROM runs ORDER BY number",
                                "SELECT experiment, position, run FROM experiment_runs"
                                " ORDER BY experiment, position"});
}

/// The first column of the only row; empty when it is NULL or there is no row.
template <class... Keys>
std::string stored(const Connection& connection, std::string_view query, const Keys&... keys) {
  Statement select(connection, query);
  select.bind(keys...);
  return select.step() ? select.text(0) : "";
}

std::string seal_of_left(const Connection& connection, std::int64_t run) {
  return stored(connection, fmt::format("SELECT seal {}", kNewestAttempt), run);
}

void store_seal_of_left(const Connection& connection, std::int64_t run, const std::string& seal) {
  Statement(connection,
            fmt::format("UPDATE attempts SET seal = ?2 WHERE id = (SELECT id {})", kNewestAttempt))
      .bind(run, seal)
      .run();
}

/// Whether the newest attempt was never ended and never verified: then it has no seal.
bool may_lack_seal(const Connection& connection, std::int64_t run) {
  return !stored(connection,
                 fmt::format("SELECT 1 {} AND outcome IS NULL AND NOT EXISTS"
                             " (SELECT 1 FROM verifications v WHERE v.attempt = attempts.id)",
                             kNewestAttempt),
                 run)
              .empty();
}

json parsed(const std::string& seal) {
  json parts = json::parse(seal, nullptr, /*allow_exceptions=*/false);
  return parts.is_object() ? parts : json::object();
}

std::string not_as_written(std::string_view what) {
  return fmt::format("{} is not as it was written", what);
}

/// The parts of what the run's attempts left that are not as they were written.
std::vector<std::string> broken_parts(const Connection& connection, std::int64_t run,
                                      const Left& left) {
  const std::string seal = seal_of_left(connection, run);
  if (seal == json(left).dump()) return {};
  std::vector<std::string> broken;
  if (seal.empty() && (may_lack_seal(connection, run) ||
                       stored(connection, fmt::format("SELECT 1 {}", kNewestAttempt), run).empty()))
    return broken;
  const json parts = parsed(seal);
  for (const auto& [part, digest] : left)
    if (parts.value(part, json()) != json(digest))
      broken.push_back(not_as_written(title_of_part(part)));
  if (parts.contains(kPredictionPart) && !left.contains(kPredictionPart))
    broken.push_back(not_as_written(title_of_part(kPredictionPart)));
  if (broken.empty() || broken.size() == left.size())
    return {not_as_written("the seal of what it left")};
  return broken;
}

}  // namespace

void seal_run(const Connection& connection, std::int64_t run) {
  Statement(connection, "UPDATE runs SET seal = ? WHERE number = ?")
      .bind(digest_of_run(connection, run), run)
      .run();
}

void seal_experiment(const Connection& connection, std::int64_t experiment) {
  Statement(connection, "UPDATE experiments SET seal = ? WHERE number = ?")
      .bind(digest_of_experiment(connection, experiment), experiment)
      .run();
}

void seal_member(const Connection& connection, std::int64_t experiment, std::int64_t position) {
  Statement(connection, "UPDATE experiment_runs SET seal = ? WHERE experiment = ? AND position = ?")
      .bind(digest_of_member(connection, experiment, position), experiment, position)
      .run();
}

void seal_members(const Connection& connection, std::int64_t experiment) {
  for (const std::int64_t position :
       numbers(connection, "SELECT position FROM experiment_runs WHERE experiment = ?", experiment))
    seal_member(connection, experiment, position);
}

void seal_lists(const Connection& connection) {
  Statement(connection,
            "INSERT INTO store_seal (one, seal) VALUES (1, ?)"
            " ON CONFLICT (one) DO UPDATE SET seal = excluded.seal")
      .bind(digest_of_lists(connection))
      .run();
}

void seal_left(const Connection& connection, std::int64_t run) {
  store_seal_of_left(connection, run, json(left_of(connection, run)).dump());
}

ChangeOfLeft::ChangeOfLeft(const Connection& connection, std::int64_t run, std::string part)
    : connection_(connection), run_(run), part_(std::move(part)) {
  killed_ = may_lack_seal(connection, run) && seal_of_left(connection, run).empty();
  sound_ = parsed(seal_of_left(connection, run)).value(part_, json()) ==
           json(part_of(connection, run, part_));
}

void ChangeOfLeft::made() const {
  if (killed_) return seal_left(connection_, run_);
  if (!sound_) return;
  json parts = parsed(seal_of_left(connection_, run_));
  parts[part_] = part_of(connection_, run_, part_);
  store_seal_of_left(connection_, run_, parts.dump());
}

SealedLeft::SealedLeft(const Connection& connection, std::int64_t run)
    : left_(left_of(connection, run)) {
  const std::string seal = seal_of_left(connection, run);
  is_open_ =
      seal.empty() && (may_lack_seal(connection, run) ||
                       stored(connection, fmt::format("SELECT 1 {}", kNewestAttempt), run).empty());
  const json parts = parsed(seal);
  for (const auto& [part, digest] : parts.items())
    if (digest.is_string()) seal_[part] = digest.get<std::string>();
}

bool SealedLeft::holds(const std::string& part) const {
  if (is_open_) return true;
  const auto sealed = seal_.find(part);
  const auto found = left_.find(part);
  if (found == left_.end()) return sealed == seal_.end();
  return sealed != seal_.end() && sealed->second == found->second;
}

bool SealedLeft::is_sound() const {
  for (const auto& [part, digest] : left_)
    if (part != kPredictionPart && !holds(part)) return false;
  return true;
}

void SealedLeft::seal_there(const Connection& connection, std::int64_t run,
                            bool prediction_holds) const {
  Left now = left_of(connection, run);
  Statement(connection, "UPDATE verifications SET proof = ?1 WHERE proof = ?2")
      .bind(proof_of(now), kProven)
      .run();
  if (is_open_ && !may_lack_seal(connection, run)) return seal_left(connection, run);
  if (seal_.empty()) return;
  now[kVerificationsPart] = part_of(connection, run, kVerificationsPart);
  json parts = json::object();
  for (const auto& [part, digest] : now) {
    const auto sealed = seal_.find(part);
    if (part == kPredictionPart ? prediction_holds : holds(part))
      parts[part] = digest;
    else
      parts[part] = sealed == seal_.end() ? "" : sealed->second;
  }
  if (!prediction_holds && !now.contains(kPredictionPart)) parts[kPredictionPart] = "";
  store_seal_of_left(connection, run, parts.dump());
}

std::string digest_of_tags(const Connection& connection) {
  return digest_of(connection, {"SELECT kind, id, tag, added FROM tags ORDER BY kind, id, tag",
                                "SELECT kind, id, time, text FROM notes"
                                " ORDER BY kind, id, time, text"});
}

void seal_tags(const Connection& connection) {
  Statement(connection, "UPDATE store_seal SET tags = ?").bind(digest_of_tags(connection)).run();
}

bool tags_are_sealed(const Connection& connection) {
  const std::string seal = stored(connection, "SELECT tags FROM store_seal");
  if (!seal.empty()) return seal == digest_of_tags(connection);
  return stored(connection, "SELECT 1 FROM tags UNION ALL SELECT 1 FROM notes LIMIT 1").empty();
}

bool part_holds(const Connection& connection, std::int64_t run, const std::string& part) {
  const std::string seal = seal_of_left(connection, run);
  return seal.empty() || parsed(seal).value(part, json()) == json(part_of(connection, run, part));
}

KnownSeals& Store::Impl::known_seals() const {
  const std::string moment = fmt::format("{} {}", connection().pragma("data_version"),
                                         stored(connection(), "SELECT total_changes()"));
  if (moment != known_seals_.moment) known_seals_ = {moment, {}, {}};
  return known_seals_;
}

bool lists_are_sealed(const Connection& connection) {
  const std::string seal = stored(connection, "SELECT seal FROM store_seal");
  if (!seal.empty()) return seal == digest_of_lists(connection);
  return stored(connection, "SELECT 1 FROM experiments UNION ALL SELECT 1 FROM runs LIMIT 1")
      .empty();
}

std::vector<std::string> broken_experiment(const Connection& connection, std::int64_t experiment) {
  Statement select(connection, "SELECT id, seal FROM experiments WHERE number = ?");
  if (!select.bind(experiment).step()) return {};
  const std::string id = select.text(0);
  std::vector<std::string> broken;
  if (select.text(1) != digest_of_experiment(connection, experiment))
    broken.push_back(not_as_written(
        fmt::format("the recipe of experiment {} (text, digest, overrides, name) or the list of "
                    "its runs",
                    id)));
  Statement members(connection,
                    "SELECT m.position, m.seal, r.id FROM experiment_runs m"
                    " JOIN runs r ON r.number = m.run WHERE m.experiment = ? ORDER BY m.position");
  for (members.bind(experiment); members.step();)
    if (members.text(1) != digest_of_member(connection, experiment, members.integer(0)))
      broken.push_back(not_as_written(fmt::format(
          "the label of run {} in experiment {} (or its role there)", members.text(2), id)));
  return broken;
}

bool run_row_is_sealed(const Connection& connection, std::int64_t run) {
  return stored(connection, "SELECT seal FROM runs WHERE number = ?", run) ==
         digest_of_run(connection, run);
}

std::vector<std::string> broken_run(const Connection& connection, std::int64_t run,
                                    const Left& left) {
  std::vector<std::string> broken = broken_parts(connection, run, left);
  if (!run_row_is_sealed(connection, run))
    broken.insert(broken.begin(), not_as_written("what was asked for (settings, plan, identity)"));
  return broken;
}

std::vector<std::string> broken_seals(const Store& store, std::int64_t run, const Left& left) {
  const Connection& connection = store.impl().connection();
  KnownSeals& known = store.impl().known_seals();
  std::vector<std::string> broken = broken_run(connection, run, left);
  Statement experiments(connection,
                        "SELECT experiment FROM experiment_runs WHERE run = ? ORDER BY experiment");
  for (experiments.bind(run); experiments.step();) {
    const std::int64_t number = experiments.integer(0);
    const auto [found, is_new] = known.experiments.try_emplace(number);
    if (is_new) found->second = broken_experiment(connection, number);
    broken.insert(broken.end(), found->second.begin(), found->second.end());
  }
  if (!known.lists) known.lists = lists_are_sealed(connection);
  if (!*known.lists) broken.push_back(kBrokenLists);
  return broken;
}

}  // namespace acid
