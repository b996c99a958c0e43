#include "exports/points.hpp"

#include <fmt/ranges.h>

#include <iterator>
#include <map>
#include <set>

#include "reports/settings.hpp"
#include "reports/text_table.hpp"
#include "store/measurements.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::size_t kPieceBytes = 1 << 16;

/// Collects text into pieces that are worth a system call.
class Pieces {
 public:
  explicit Pieces(const Write& write) : write_(write) {}
  std::back_insert_iterator<std::string> end() {
    if (text_.size() >= kPieceBytes) flush();
    return std::back_inserter(text_);
  }
  void flush() {
    write_(text_);
    text_.clear();
  }

 private:
  const Write& write_;
  std::string text_;
};

/// Visits the run's series by metric, then worker, and holds the series of one metric at a time.
template <class Visit>
void for_each_series(const Store& store, const std::string& run, const Visit& visit) {
  std::set<std::string> metrics;
  for (const SeriesName& name : series_names(store, run)) metrics.insert(name.metric);
  for (const std::string& metric : metrics)
    for (const Series& series : read_series(store, run, metric)) visit(series);
}

/// Returns the series of the whole run, and the number of other series in `left_out`.
std::vector<SeriesName> whole_run_series(const Store& store, const std::string& run,
                                         std::size_t& left_out) {
  std::vector<SeriesName> names;
  for (const SeriesName& name : series_names(store, run))
    if (name.worker == kWholeRun)
      names.push_back(name);
    else
      ++left_out;
  return names;
}

/// The fields of a line of CSV, without its end.
std::string fields(const std::vector<std::string>& texts) {
  std::string line = csv_line(texts);
  line.pop_back();
  return line;
}

/// The settings that differ between runs, without those that have a column of their own.
struct DifferingSettings {
  std::vector<std::string> keys;     // dotted, by name
  std::vector<FlatSettings> of_run;  // parallel to the ids

  DifferingSettings(const Store& store, const std::vector<std::string>& run_ids) {
    for (const json& settings : run_settings(store, run_ids)) of_run.push_back(flatten(settings));
    keys = varying_keys(of_run);
    std::erase_if(keys,
                  [](const std::string& key) { return key == "seed" || key == "algorithm.kind"; });
  }
  /// Texts for CSV: exact; empty if the run has no such setting.
  std::vector<std::string> cells(std::size_t run) const {
    std::vector<std::string> texts;
    for (const std::string& key : keys) {
      const json& value = value_at(of_run[run], key);
      texts.push_back(value.is_null()     ? ""
                      : value.is_string() ? value.get<std::string>()
                                          : compact(value));
    }
    return texts;
  }
};

json series_json(const Series& series) {
  json document{{"metric", series.metric},
                {"unit", series.unit},
                {"worker", series.worker == kWholeRun ? json(nullptr) : json(series.worker)}};
  for (const char* name : {"gradients", "normalised_time", "seconds", "bytes", "value"})
    document[name] = json::array();
  for (const auto& [at, value] : series.points) {
    document["gradients"].push_back(at.gradients);
    document["normalised_time"].push_back(at.normalised_time);
    document["seconds"].push_back(at.seconds);
    document["bytes"].push_back(at.bytes);
    document["value"].push_back(exact_json(value));
  }
  return document;
}

}  // namespace

void write_long_csv(const Store& store, const AskedRuns& asked, const Write& write,
                    const RunsDone& done) {
  Pieces pieces(write);
  fmt::format_to(pieces.end(), "run,metric,worker,gradients,normalised_time,seconds,bytes,value\n");
  for (std::size_t r = 0; r < asked.ids.size(); ++r) {
    for_each_series(store, asked.ids[r], [&](const Series& series) {
      const std::string worker = series.worker == kWholeRun ? "" : fmt::format("{}", series.worker);
      for (const auto& [at, value] : series.points)
        fmt::format_to(pieces.end(), "{},{},{},{},{},{},{},{}\n", asked.ids[r], series.metric,
                       worker, at.gradients, exact_digits(at.normalised_time),
                       exact_digits(at.seconds), at.bytes, exact_digits(value));
    });
    pieces.flush();
    done(r + 1);
  }
}

std::size_t write_wide_csv(const Store& store, const AskedRuns& asked, const Write& write,
                           const RunsDone& done) {
  std::size_t left_out = 0;
  std::map<std::string, std::size_t> columns;
  for (const std::string& run : asked.ids)
    for (const SeriesName& name : whole_run_series(store, run, left_out))
      columns.emplace(name.metric, 0);
  Pieces pieces(write);
  const DifferingSettings settings(store, asked.ids);
  std::vector<std::string> titles{"run", "algorithm", "label", "seed", "tags"};
  titles.insert(titles.end(), settings.keys.begin(), settings.keys.end());
  fmt::format_to(pieces.end(), "{},gradients,normalised_time,seconds,bytes", fields(titles));
  std::size_t next = 0;
  for (auto& [metric, column] : columns) {
    column = next++;
    fmt::format_to(pieces.end(), ",{}", metric);
  }
  fmt::format_to(pieces.end(), "\n");

  const auto summaries = runs_as_asked(store, asked);
  std::vector<std::string> cells(columns.size());
  for (std::size_t r = 0; r < asked.ids.size(); ++r) {
    std::size_t counted = 0;
    const auto names = whole_run_series(store, asked.ids[r], counted);
    const RunSummary& run = summaries[r];
    std::vector<std::string> texts{run.id, run.algorithm, run.label, fmt::format("{}", run.seed),
                                   fmt::format("{}", fmt::join(run.tagged, " "))};
    for (std::string& cell : settings.cells(r)) texts.push_back(std::move(cell));
    const std::string head = fields(texts);
    for_each_measurement(store, asked.ids[r], names, [&](const Measurement& moment) {
      const Position& at = moment.position;
      fmt::format_to(pieces.end(), "{},{},{},{},{}", head, at.gradients,
                     exact_digits(at.normalised_time), exact_digits(at.seconds), at.bytes);
      for (const auto& [series, value] : moment.values)
        cells[columns.at(names[series].metric)] = exact_digits(value);
      for (std::string& cell : cells) {
        fmt::format_to(pieces.end(), ",{}", cell);
        cell.clear();
      }
      fmt::format_to(pieces.end(), "\n");
    });
    pieces.flush();
    done(r + 1);
  }
  return left_out;
}

void write_long_jsonl(const Store& store, const AskedRuns& asked, const Write& write,
                      const RunsDone& done) {
  Pieces pieces(write);
  for (std::size_t r = 0; r < asked.ids.size(); ++r) {
    for_each_series(store, asked.ids[r], [&](const Series& series) {
      const std::string worker =
          series.worker == kWholeRun ? "null" : fmt::format("{}", series.worker);
      const std::string head = fmt::format("{{\"run\":{},\"metric\":{},\"worker\":{}",
                                           compact(asked.ids[r]), compact(series.metric), worker);
      for (const auto& [at, value] : series.points)
        fmt::format_to(pieces.end(),
                       "{},\"gradients\":{},\"normalised_time\":{},\"seconds\":{},\"bytes\":{},"
                       "\"value\":{}}}\n",
                       head, at.gradients, compact(exact_json(at.normalised_time)),
                       compact(exact_json(at.seconds)), at.bytes, compact(exact_json(value)));
    });
    pieces.flush();
    done(r + 1);
  }
}

std::size_t write_wide_jsonl(const Store& store, const AskedRuns& asked, const Write& write,
                             const RunsDone& done) {
  std::size_t left_out = 0;
  Pieces pieces(write);
  const auto summaries = runs_as_asked(store, asked);
  const DifferingSettings settings(store, asked.ids);
  for (std::size_t r = 0; r < asked.ids.size(); ++r) {
    const RunSummary& run = summaries[r];
    const auto names = whole_run_series(store, asked.ids[r], left_out);
    std::string head = fmt::format(
        "{{\"run\":{},\"algorithm\":{},\"label\":{},\"seed\":{},\"tags\":{}", compact(run.id),
        compact(run.algorithm), compact(run.label), run.seed, compact(run.tagged));
    for (const std::string& key : settings.keys)
      head += fmt::format(",{}:{}", compact(key), compact(value_at(settings.of_run[r], key)));
    for_each_measurement(store, asked.ids[r], names, [&](const Measurement& moment) {
      const Position& at = moment.position;
      fmt::format_to(pieces.end(),
                     "{},\"gradients\":{},\"normalised_time\":{},\"seconds\":{},\"bytes\":{}", head,
                     at.gradients, compact(exact_json(at.normalised_time)),
                     compact(exact_json(at.seconds)), at.bytes);
      for (const auto& [series, value] : moment.values)
        fmt::format_to(pieces.end(), ",{}:{}", compact(names[series].metric),
                       compact(exact_json(value)));
      fmt::format_to(pieces.end(), "}}\n");
    });
    pieces.flush();
    done(r + 1);
  }
  return left_out;
}

void write_json(const Store& store, const AskedRuns& asked, int schema_version,
                const RunJson& run_json, const Write& write, const RunsDone& done) {
  write(fmt::format("{{\"schema_version\":{},\"runs\":[", schema_version));
  const auto summaries = runs_as_asked(store, asked);
  for (std::size_t r = 0; r < asked.ids.size(); ++r) {
    RunDetail detail = run_detail(store, asked.ids[r]);
    detail.summary = summaries[r];
    std::string run = compact(run_json(detail));
    run.pop_back();  // The object goes on with its series.
    write((r == 0 ? "\n" : ",\n") + run + ",\"series\":[");
    bool first = true;
    for_each_series(store, asked.ids[r], [&](const Series& series) {
      write((first ? "" : ",") + compact(series_json(series)));
      first = false;
    });
    write("]}");
    done(r + 1);
  }
  write("\n]}\n");
}

}  // namespace acid
