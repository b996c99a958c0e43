#include "cli/recipe_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <set>

#include "cli/planned_outcomes.hpp"
#include "cli/processes/executor.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "reports/claims.hpp"
#include "reports/settings.hpp"

namespace acid {

void add_overrides_option(CLI::App& command, std::vector<std::string>& overrides) {
  add_repeated(command, "--set", overrides, "K=V",
               "Override a key, such as optimizer.learning_rate=0.1; may be given several times");
}

void add_jobs_option(CLI::App& command, std::size_t& jobs, const std::string& help) {
  add_value(command, "--jobs", jobs, "N", help)->check(CLI::Range(1, 1024).description(""));
}

void ExecutorOptions::add_to(CLI::App& command) {
  add_jobs_option(command, jobs,
                  "Runs at a time. Default 1: the virtual driver uses every core by itself, and "
                  "runs side by side disturb each other's wall clock");
  command.add_flag("--allow-changed", allow_changed,
                   "Continue runs although acid or their data files have changed since; the "
                   "difference is recorded");
  CLI::Option* going = command.add_flag_function(
      "--keep-going", [](std::int64_t) {}, "Go on with the other runs when one fails (default)");
  command.add_flag("--fail-fast", fail_fast, "Stop when a run fails")->excludes(going);
}

void RecipeOptions::add_to(CLI::App& command, bool with_driver) {
  add_argument(command, "RECIPE", path, "The recipe, a TOML file")->required();
  add_overrides_option(command, overrides);
  if (with_driver)
    add_value(command, "--driver", driver, "virtual|threads|mpi",
              "Short for --set execution.driver=…");
  add_value(command, "--copy-of", copy_of, "FILE",
            "RECIPE is a copy of this file: relative file names in it start at the folder of "
            "the original, which need not be there any more");
}

namespace {

/// Whether the claim is about a run with these settings.
bool is_at(const Claim& claim, const nlohmann::json& settings) {
  const FlatSettings flat = flatten(settings);
  return std::ranges::all_of(claim.where, [&](const auto& wanted) {
    const nlohmann::json value = value_at(flat, wanted.first);
    return value.is_null() || value == wanted.second;
  });
}

/// RecipeError for a law's formula that is none, or names what a run of its algorithm does not
/// have.
void require_formulas(const Plan& plan) {
  for (const Claim& claim : claims_from(plan.comparison))
    for (const PlannedRun& run : plan.compared()) {
      if (claim.kind != Claim::Kind::law || run.label != claim.algorithm ||
          run.seed != plan.seeds.front() || !is_at(claim, run.settings))
        continue;
      try {
        if (said_by_law(claim, run.settings) == 0 && claim.margin.relative)
          throw UsageError(fmt::format(
              "the formula of the claim '{}' is 0 for {}, of which no share is a margin: write "
              "within as a number",
              claim.name, run.label));
      } catch (const UsageError& error) {
        Diagnostic diagnostic = plan.formulas.at(claim.name);
        diagnostic.message = error.what();
        throw RecipeError({diagnostic});
      }
    }
}

}  // namespace

Plan RecipeOptions::compile(const OverAxis* over) const {
  std::vector<std::string> all = overrides;
  if (!driver.empty()) all.push_back("execution.driver=" + driver);
  Plan plan = load_recipe(path, all, copy_of, over);
  require_formulas(plan);
  return plan;
}

Plan RecipeOptions::compile_with(const std::vector<std::string>& more) const {
  RecipeOptions with = *this;
  with.driver.clear();
  with.overrides.insert(with.overrides.end(), more.begin(), more.end());
  return with.compile();
}

namespace {

// If standard error has no reader any more, the command goes on.
class WithoutReader {
 public:
  WithoutReader() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~WithoutReader() { std::signal(SIGPIPE, before_); }
  WithoutReader(const WithoutReader&) = delete;
  WithoutReader& operator=(const WithoutReader&) = delete;

 private:
  void (*const before_)(int);
};

}  // namespace

void say_doubts(const Plan& plan) {
  const WithoutReader allowed;
  std::set<std::string> said;
  for (const Diagnostic& warning : plan.warnings)
    if (said.insert(warning.message).second) say(render(warning, "warning"));
  for (const PlannedRun& run : plan.runs)
    for (const std::string& warning : run.warnings)
      if (said.insert(warning).second) say(fmt::format("acid: warning: {}", warning));
  if (!plan.left_out.empty())
    say(
        fmt::format("acid: warning: {} of the sweep left out, since the parts do not go together; "
                    "'acid plan' says why",
                    counted(plan.left_out.size(), "cell")));
}

void say_warnings(const Plan& plan) {
  say_doubts(plan);
  const WithoutReader allowed;
  const PlannedVerdict verdict = verdict_of(plan);
  if (const std::string words = too_few_words(verdict); !words.empty())
    say(fmt::format("acid: warning: {}; write seeds = \"{}-{}\"", words, plan.seeds.front(),
                    plan.seeds.front() + verdict.seeds_needed_for_all - 1));
}

}  // namespace acid
