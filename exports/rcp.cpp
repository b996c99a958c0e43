#include "exports/rcp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include "engine/base/names.hpp"
#include "reports/grouping.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"
#include "reports/statistics.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kFewestRuns = 3;  // that leave one between the fastest and the slowest
constexpr const char* kEpochs = "Epochs to converge";
constexpr const char* kSamples = "samples to converge";

/// Gradients at the first sample that reached the target; infinite if none did.
double gradients_to(const Store& store, const std::string& run, const Target& target) {
  const auto reached =
      first_reaching(store, run, target.metric, target.value, better_direction(target.metric) > 0);
  return reached ? static_cast<double>(reached->first.position.gradients) : kInfinite;
}

double number_in(const json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_number() ? found->get<double>() : 0;
}

ConvergencePoint point_of(const Store& store, const ComparedGroup& group) {
  if (!group.target)
    throw UsageError(
        fmt::format("{} has no target to converge to: write budget.target into the recipe; 'acid "
                    "compare --rcp' also takes --target",
                    group.label));
  ConvergencePoint point;
  point.label = group.label;
  const RunDetail first = run_detail(store, group.runs.front().id);
  const double per_epoch = number_in(first.plan, "gradients_per_epoch");
  const std::optional<int> batch_size = settings_from(first.settings).task.batch_size;
  if (per_epoch <= 0 || !batch_size)
    throw UsageError(fmt::format("{} has no epochs: its task has no data set", group.label));
  point.batch_size = static_cast<double>(*batch_size) * group.runs.front().workers;
  point.epoch = per_epoch * *batch_size;
  for (const RunSummary& run : group.runs) {
    point.epochs.push_back(gradients_to(store, run.id, *group.target) / per_epoch);
    point.when = std::max(point.when, run.finished);
  }
  point.epochs.resize(group.outcomes(), kInfinite);  // those that diverged
  point.benchmark = first.summary.experiment_name;
  point.platform =
      fmt::format("{}, {}", counted(first.summary.workers, "worker"), first.summary.driver);
  for (const auto& [key, value] : flatten(group.settings))
    if (key.starts_with("optimizer.") || key.starts_with("algorithm.") ||
        key.starts_with("topology.") || key == "task.batch_size" || key == "workers.count")
      point.hyperparams[key] = value;
  return point;
}

/// The mean without so many of the smallest and of the largest values.
double olympic_mean(std::vector<double> values, std::size_t left_out) {
  std::ranges::sort(values);
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(left_out);
  const auto last = values.end() - static_cast<std::ptrdiff_t>(left_out);
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

double standard_deviation(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / n);
}

/// The smallest mean of `runs` values that is not significantly below the reference's.
double fewest_epochs(const ReferencePoint& reference, std::size_t runs) {
  constexpr double kAlpha = 0.05;
  const auto n = static_cast<double>(reference.runs), m = static_cast<double>(runs);
  if (reference.stdev == 0 || n + m <= 2) return reference.mean;
  const double t = student_t_quantile(1 - kAlpha, n + m - 2);
  return std::max(0.0, reference.mean - t * reference.stdev * std::sqrt(1 / n + 1 / m));
}

ReferencePoint between(const ReferencePoint& low, const ReferencePoint& high, double batch_size) {
  const double part = (batch_size - low.batch_size) / (high.batch_size - low.batch_size);
  return {fmt::format("between {} and {}", low.name, high.name), batch_size, 0,
          low.mean + part * (high.mean - low.mean), low.stdev + part * (high.stdev - low.stdev)};
}

[[noreturn]] void no_reference(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("{} is no file of reference convergence points: {}", path, why));
}

std::vector<double> values_of(const json& entry, const char* key, const std::string& path) {
  std::vector<double> values;
  for (const json& value : entry[key]) {
    if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>()))
      no_reference(path, fmt::format("\"{}\" has a value that is no number above 0", key));
    values.push_back(value.get<double>());
  }
  return values;
}

}  // namespace

std::size_t ConvergencePoint::missed() const {
  return static_cast<std::size_t>(std::ranges::count(epochs, kInfinite));
}

std::vector<ConvergencePoint> convergence_points(const Store& store, const Comparison& comparison) {
  std::vector<ConvergencePoint> points;
  for (const ComparedPoint& place : comparison.points)
    for (const std::size_t g : place.groups) {
      if (comparison.groups[g].runs.empty()) continue;
      points.push_back(point_of(store, comparison.groups[g]));
      points.back().at = point_title(place);
    }
  return points;
}

json rcp_json(const std::vector<ConvergencePoint>& points, const std::string& creator) {
  json file = json::object();
  for (const ConvergencePoint& point : points) {
    if (point.missed() > 0) continue;
    std::string name = fmt::format("{}_{}_ref_{}", point.benchmark, point.label, point.batch_size);
    for (int more = 2; file.contains(name); ++more)
      name = fmt::format("{}_{}_ref_{}_{}", point.benchmark, point.label, point.batch_size, more);
    file[name] = {{"Benchmark", point.benchmark},
                  {"Creator", creator},
                  {"When", point.when},
                  {"Platform", point.platform},
                  {"Precision", "FP32"},
                  {"BS", std::llround(point.batch_size)},
                  {"Hyperparams", point.hyperparams},
                  {kEpochs, point.epochs}};
  }
  return file;
}

ConvergenceReference::ConvergenceReference(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path, ignored))
    throw UsageError(fmt::format("cannot read {}; --rcp names a file", path));
  const json document = json::parse(file, nullptr, false);
  if (!document.is_object() || document.empty())
    no_reference(path, "it is no JSON object of entries");
  for (const auto& [name, entry] : document.items()) {
    const bool in_samples = entry.is_object() && entry.contains(kSamples);
    const char* const key = in_samples ? kSamples : kEpochs;
    if (!entry.is_object() || number_in(entry, "BS") <= 0 || !entry.contains(key) ||
        !entry[key].is_array())
      no_reference(path, fmt::format("{} has no \"BS\" or no list \"{}\"", name, kEpochs));
    const std::string unit = in_samples ? "samples" : "epochs";
    if (!unit_.empty() && unit != unit_) no_reference(path, "it has both epochs and samples");
    unit_ = unit;
    left_out_ = entry.value("Benchmark", json()) == "unet3d" ? 4 : 1;  // a rule of that benchmark
    const std::vector<double> values = values_of(entry, key, path);
    if (values.size() <= 2 * left_out_)
      no_reference(path, fmt::format("{} has {} runs, which are too few", name, values.size()));
    points_.push_back({name, number_in(entry, "BS"), values.size() - 2 * left_out_,
                       olympic_mean(values, left_out_), standard_deviation(values)});
  }
  std::ranges::sort(points_, {}, &ReferencePoint::batch_size);
  const auto twice = std::ranges::adjacent_find(points_, {}, &ReferencePoint::batch_size);
  if (twice != points_.end())
    throw UsageError(
        fmt::format("{} has two entries with the batch size {}, {} and {}: leave one in it", path,
                    twice->batch_size, twice->name, std::next(twice)->name));
  prune();
}

void ConvergenceReference::prune() {
  const auto fastest = std::ranges::min_element(points_, {}, &ReferencePoint::mean);
  points_.erase(points_.begin(), fastest);
  for (std::size_t k = 1; k + 1 < points_.size();) {
    const auto here = points_.begin() + static_cast<std::ptrdiff_t>(k);
    if (here->mean > between(*(here - 1), *(here + 1), here->batch_size).mean)
      points_.erase(here);
    else
      ++k;
  }
}

ConvergenceReference::Verdict ConvergenceReference::judge(const ConvergencePoint& point) const {
  Verdict verdict;
  const auto says = [&](const std::string& words) {
    verdict.words = words;
    return verdict;
  };
  std::vector<double> values = point.epochs;
  if (unit_ == "samples")
    for (double& value : values) value *= point.epoch;
  if (values.size() < std::max(kFewestRuns, 2 * left_out_ + 1))
    return says(fmt::format("cannot be told: {} are too few", counted(values.size(), "run")));
  verdict.mean = olympic_mean(values, left_out_);
  if (point.missed() > left_out_)
    return says(
        fmt::format("fails: {} of {} runs missed the target", point.missed(), values.size()));
  const auto above =
      std::ranges::lower_bound(points_, point.batch_size, {}, &ReferencePoint::batch_size);
  const std::string needed =
      fmt::format("the reference needs a point with the batch size {}", point.batch_size);
  if (above == points_.end()) return says("fails: " + needed);
  const bool smaller = above == points_.begin() && above->batch_size != point.batch_size;
  ReferencePoint reference = *above;
  if (!smaller && above->batch_size != point.batch_size) {
    reference = between(*(above - 1), *above, point.batch_size);
    reference.runs = 2 * values.size();  // what the rules ask of a reference
  }
  verdict.reference = reference;
  verdict.fewest = fewest_epochs(reference, values.size() - 2 * left_out_);
  verdict.passes = verdict.mean >= verdict.fewest;
  verdict.words = verdict.passes ? "passes" : "fails: faster than the reference allows";
  if (smaller) verdict.words += verdict.passes ? ", at a smaller batch size" : "; " + needed;
  return verdict;
}

json rcp_rows(const std::vector<ConvergencePoint>& points, const ConvergenceReference& reference) {
  json rows = json::array();
  for (const ConvergencePoint& point : points) {
    const ConvergenceReference::Verdict verdict = reference.judge(point);
    const auto& found = verdict.reference;
    rows.push_back({{"label", point.label},
                    {"at", point.at},
                    {"batch_size", point.batch_size},
                    {"runs", point.epochs.size()},
                    {"missed", point.missed()},
                    {"unit", reference.unit()},
                    {"mean", exact_json(verdict.mean)},
                    {"reference", found ? json(found->name) : json()},
                    {"reference_mean", found ? json(found->mean) : json()},
                    {"reference_stdev", found ? json(found->stdev) : json()},
                    {"fewest", found ? json(verdict.fewest) : json()},
                    {"passes", verdict.passes},
                    {"verdict", verdict.words}});
  }
  return rows;
}

std::string rcp_text(const std::vector<ConvergencePoint>& points,
                     const ConvergenceReference& reference, const TextLines& lines) {
  using Align = TextTable::Align;
  TextTable table;
  table.lines = lines;
  table.alignment = {Align::left,  Align::left,  Align::right, Align::right,
                     Align::right, Align::right, Align::right, Align::left};
  table.rows.push_back(
      {"algorithm", "at", "batch", "runs", reference.unit(), "reference", "at least", "verdict"});
  for (const ConvergencePoint& point : points) {
    const ConvergenceReference::Verdict verdict = reference.judge(point);
    const auto number = [&](double value) {
      return verdict.reference ? format_number(value, 4) : std::string();
    };
    table.rows.push_back({point.label, point.at, format_number(point.batch_size, 6),
                          std::to_string(point.epochs.size()), number(verdict.mean),
                          verdict.reference ? number(verdict.reference->mean) : std::string(),
                          number(verdict.fewest), verdict.words});
  }
  return table.str();
}

}  // namespace acid
