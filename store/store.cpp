#include "store/store.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/names.hpp"
#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/rows.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

// In the order of RunState.
constexpr std::array<std::string_view, 6> kStateNames{"planned", "running",  "finished",
                                                      "failed",  "diverged", "interrupted"};

/// Returns the number of a run, after storing the run if its digest is new. Some settings of a
/// known run can have changed without changing its digest (how often to save, where the data lies);
/// they are updated unless a process executes the run, which has read the old ones.
std::int64_t share_run(const sqlite::Connection& connection, const RunRecord& run,
                       const std::unordered_set<std::string>& live, const std::string& now) {
  Statement known(connection, "SELECT number, id FROM runs WHERE digest = ?");
  if (known.bind(run.digest).step()) {
    const std::int64_t number = known.integer(0);
    if (live.count(known.text(1)) > 0) return number;
    // The digest determines the other columns, so they are written anew in case they were altered.
    Statement(connection,
              "UPDATE runs SET settings = ?, plan = ?, group_digest = ?, algorithm = ?, seed = ?,"
              " driver = ?, topology = ?, workers = ?, budget_gradients = ? WHERE number = ?")
        .bind(json_text(run.settings), json_text(run.plan), run.group, run.algorithm, run.seed,
              run.driver, run.topology, run.workers, run.budget_gradients, number)
        .run();
    seal_run(connection, number);
    return number;
  }
  Statement insert(connection,
                   "INSERT INTO runs (id, digest, group_digest, algorithm, seed, driver, topology,"
                   " workers, budget_gradients, settings, plan, created)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert
      .bind(run.id, run.digest, run.group, run.algorithm, run.seed, run.driver, run.topology,
            run.workers, run.budget_gradients, json_text(run.settings), json_text(run.plan), now)
      .run();
  const std::int64_t number = connection.last_insert_id();
  seal_run(connection, number);
  return number;
}

}  // namespace

std::string_view state_name(RunState state) { return kStateNames[static_cast<std::size_t>(state)]; }

RunState state_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kStateNames.size(); ++i)
    if (kStateNames[i] == name) return static_cast<RunState>(i);
  const std::vector<std::string> known(kStateNames.begin(), kStateNames.end());
  throw UsageError(fmt::format("unknown state '{}': expected {}", name, one_of(known)));
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

// Text that is no JSON becomes a discarded value, which has no kind.
nlohmann::json parsed(const Statement& row, int column) {
  return nlohmann::json::parse(row.text(column), nullptr, /*allow_exceptions=*/false);
}

/// A list of which `is_one` holds for each element; otherwise it is, say, "no list of counts".
template <class T, class IsOne>
std::vector<T> stored_list(const Statement& row, int column, std::string_view whose,
                           std::string_view otherwise, const IsOne& is_one) {
  const nlohmann::json list = parsed(row, column);
  if (!list.is_array()) row.refuse(column, whose, "no JSON list");
  if (!std::all_of(list.begin(), list.end(), is_one)) row.refuse(column, whose, otherwise);
  return list.get<std::vector<T>>();
}

}  // namespace

nlohmann::json stored_object(const Statement& row, int column, std::string_view whose) {
  nlohmann::json value = parsed(row, column);
  if (!value.is_object() && !value.is_null()) row.refuse(column, whose, "no JSON object");
  return value;
}

std::vector<std::int64_t> stored_counts(const Statement& row, int column, std::string_view whose) {
  return stored_list<std::int64_t>(
      row, column, whose, "no list of counts", [](const nlohmann::json& one) {
        return one.is_number_unsigned() && one.get<std::uint64_t>() <= kMostGradients;
      });
}

std::vector<double> stored_reals(const Statement& row, int column, std::string_view whose) {
  return stored_list<double>(row, column, whose, "no list of numbers",
                             [](const nlohmann::json& one) { return one.is_number(); });
}

std::vector<std::string> stored_texts(const Statement& row, int column, std::string_view whose) {
  return stored_list<std::string>(row, column, whose, "no list of texts",
                                  [](const nlohmann::json& one) { return one.is_string(); });
}

Position stored_position(const Statement& row, int column, std::string_view whose) {
  return {row.integer(column, 0, kMostGradients, whose), row.real(column + 1), row.real(column + 2),
          row.integer(column + 3, 0, kMostBytes, whose)};
}

std::string no_such_run(const std::string& folder, const std::string& run_id) {
  return fmt::format("the store {} has no run {}; 'acid list' shows those it has", folder, run_id);
}

RunState stored_state(const Statement& row, int column, std::string_view whose) {
  const std::string name = row.text(column);
  const auto known = std::ranges::find(kStateNames, name);
  if (known == kStateNames.end()) row.refuse(column, whose, fmt::format("'{}'", name));
  return static_cast<RunState>(known - kStateNames.begin());
}

std::string stored_run_id(const Statement& row, int column) {
  constexpr std::size_t kDigits = 12;
  std::string id = row.text(column);
  if (id.size() != kDigits || id.find_first_not_of("0123456789abcdef") != std::string::npos)
    row.refuse(column, "a run", fmt::format("'{}'", id));
  return id;
}

Store::Store(const std::string& folder, Access access)
    : impl_(std::make_unique<Impl>(folder, access)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::string& Store::folder() const { return impl_->folder; }

namespace {

std::optional<std::string> text_or_null(const nlohmann::json& document) {
  return document.is_null() ? std::nullopt : std::optional(json_text(document));
}

}  // namespace

void Store::add_experiment(const ExperimentRecord& experiment, const std::vector<RunRecord>& runs) {
  const sqlite::Connection& connection = impl_->connection();
  Transaction transaction(connection, Transaction::Kind::write);
  const std::string now = utc_now();
  const bool lists_were_sound = lists_are_sealed(connection);
  // The experiment is replaced as a whole: it becomes the newest, with the runs that its recipe
  // compiles to now. Only the time at which it was first asked for stays.
  const std::vector<std::string> first =
      texts(connection, "SELECT coalesce(first_asked, created) FROM experiments WHERE id = ?",
            experiment.id);
  Statement(connection, "DELETE FROM experiments WHERE id = ?").bind(experiment.id).run();
  Statement insert(connection,
                   "INSERT INTO experiments (id, name, recipe_path, recipe_text, recipe_digest,"
                   " overrides, command_line, created, search, comparison, first_asked)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert
      .bind(experiment.id, experiment.name, experiment.recipe_path, experiment.recipe_text,
            experiment.recipe_digest, json_text(experiment.overrides), experiment.command_line, now,
            text_or_null(experiment.search), text_or_null(experiment.comparison),
            first.empty() ? now : first.front())
      .run();
  const std::int64_t number = connection.last_insert_id();
  // A run that the recipe asks for twice keeps its first place.
  Statement member(connection,
                   "INSERT INTO experiment_runs (experiment, position, run, label, role)"
                   " VALUES (?, ?, ?, ?, ?) ON CONFLICT (run, experiment) DO NOTHING");
  const std::unordered_set<std::string> live = live_runs(connection);
  for (std::size_t position = 0; position < runs.size(); ++position)
    member
        .bind(number, position, share_run(connection, runs[position], live, now),
              runs[position].label, runs[position].is_search ? "search" : "")
        .run();
  seal_experiment(connection, number);
  seal_members(connection, number);
  if (lists_were_sound) seal_lists(connection);
  transaction.commit();
}

}  // namespace acid
