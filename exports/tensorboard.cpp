#include "exports/tensorboard.hpp"

#include <algorithm>

#include "exports/event_file.hpp"
#include "reports/settings.hpp"
#include "store/measurements.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 80;  // bytes; a file system takes 255

// Numbers of fields in the hparams plugin's plugin_data.proto and api.proto, and in struct.proto.
constexpr unsigned kSessionStart = 3, kSessionEnd = 4;
constexpr unsigned kStartHparams = 1, kStartGroup = 4, kStartTime = 5;
constexpr unsigned kEndStatus = 1, kEndTime = 2;
constexpr unsigned kEntryKey = 1, kEntryValue = 2;
constexpr unsigned kValueNumber = 2, kValueString = 3, kValueBool = 4;
constexpr int kSucceeded = 1, kFailed = 2;

ProtoMessage hparam(const json& value) {
  if (value.is_number()) return ProtoMessage().real(kValueNumber, value.get<double>());
  if (value.is_boolean()) return ProtoMessage().integer(kValueBool, value.get<bool>() ? 1 : 0);
  return ProtoMessage().text(kValueString, value_text(value));
}

ProtoMessage session_start(const RunDetail& run, double began) {
  ProtoMessage start;
  for (const auto& [key, value] : flatten(run.settings))
    start.message(kStartHparams,
                  ProtoMessage().text(kEntryKey, key).message(kEntryValue, hparam(value)));
  start.text(kStartGroup, run.summary.group).real(kStartTime, began);
  return ProtoMessage().message(kSessionStart, start);
}

ProtoMessage session_end(const RunDetail& run) {
  const bool succeeded = run.summary.state == RunState::finished;
  const ProtoMessage end = ProtoMessage()
                               .integer(kEndStatus, succeeded ? kSucceeded : kFailed)
                               .real(kEndTime, unix_seconds(run.summary.finished));
  return ProtoMessage().message(kSessionEnd, end);
}

/// When the run began: with the newest attempt that did not continue another.
double began_at(const RunDetail& run) {
  for (auto attempt = run.attempts.rbegin(); attempt != run.attempts.rend(); ++attempt)
    if (attempt->resumed_from == 0) return unix_seconds(attempt->started);
  return unix_seconds(run.summary.started);
}

std::string settings_markdown(const RunDetail& run) {
  std::string text = fmt::format("Run {} of acid, {} ({}), seed {}.\n\n", run.summary.id,
                                 run.summary.label, run.summary.algorithm, run.summary.seed);
  // An indented block, which no text in a setting can end.
  const std::string settings = indented(run.settings);
  std::size_t at = 0;
  while (at < settings.size()) {
    const std::size_t end = settings.find('\n', at) + 1;
    text += "    " + settings.substr(at, end - at);
    at = end;
  }
  return text;
}

/// `text` as a file's name, or a part of one.
std::string plain_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool kept = byte >= 0x80 || (byte >= '0' && byte <= '9') ||
                      (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                      std::string_view("._+=,").find(c) != std::string_view::npos;
    if (kept)
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  std::size_t size = std::min(name.size(), kLongestName);
  while (size > 0 && size < name.size() && (static_cast<unsigned char>(name[size]) & 0xC0) == 0x80)
    --size;  // not in the middle of a character
  name.resize(size);
  if (!name.empty() && name.front() == '.') name.front() = '-';
  return name;
}

}  // namespace

std::string tensorboard_folder(const RunSummary& run) {
  const std::string label = plain_name(run.label.empty() ? run.algorithm : run.label);
  return fmt::format("{}-seed{}-{}", label.empty() ? "run" : label, run.seed, plain_name(run.id));
}

void write_event_file(const Store& store, const RunDetail& run, const Write& write) {
  const double began = began_at(run);
  const auto names = series_names(store, run.summary.id);
  write(version_event(began));
  write(summary_event(began, 0,
                      summary_of(plugin_value("_hparams_/session_start_info", "hparams",
                                              session_start(run, began)))));
  write(summary_event(began, 0, summary_of(text_value("settings", settings_markdown(run)))));
  std::vector<std::string> tags;
  for (const SeriesName& name : names)
    tags.push_back(name.worker == kWholeRun
                       ? name.metric
                       : fmt::format("{}/worker_{}", name.metric, name.worker));
  std::int64_t last = 0;
  for_each_measurement(store, run.summary.id, names, [&](const Measurement& moment) {
    ProtoMessage summary;
    for (const auto& [series, value] : moment.values)
      add_value(summary, scalar_value(tags[series], value));
    last = moment.position.gradients;
    write(summary_event(began + moment.position.seconds, last, summary));
  });
  if (!run.summary.finished.empty())
    write(summary_event(
        unix_seconds(run.summary.finished), last,
        summary_of(plugin_value("_hparams_/session_end_info", "hparams", session_end(run)))));
}

}  // namespace acid
