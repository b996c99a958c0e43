#include "exports/tensorboard.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "reports/settings.hpp"
#include "store/measurements.hpp"

namespace acid {
namespace {

using nlohmann::json;

/// The lowest bytes of a number, the lowest first.
std::string little_endian(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

/// A message in the wire format of Protocol Buffers, field by field, in the order of the calls. In
/// proto3 a field with its default value can be left out; the caller decides.
class ProtoMessage {
 public:
  ProtoMessage& integer(unsigned field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  ProtoMessage& real(unsigned field, double value) {
    key(field, 1);
    bytes_ += little_endian(std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }
  ProtoMessage& real32(unsigned field, float value) {
    key(field, 5);
    bytes_ += little_endian(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  ProtoMessage& text(unsigned field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtoMessage& message(unsigned field, const ProtoMessage& value) {
    return text(field, value.bytes_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(unsigned field, unsigned wire_type) { varint(field << 3U | wire_type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? crc >> 1U ^ kPolynomial : crc >> 1U;
    table[i] = crc;
  }
  return table;
}
constexpr auto kCrcTable = make_crc_table();

std::string masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian((crc >> 15U | crc << 17U) + 0xA282EAD8U, 4);
}

/// A record of a TFRecord file: its length (64 bits, little-endian), the masked CRC-32C of the
/// length, its bytes, and their masked CRC-32C. The mask rotates the sum right by 15 bits and adds
/// 0xa282ead8, so that a sum over data that contain sums is still useful.
std::string tf_record(std::string_view bytes) {
  const std::string length = little_endian(bytes.size(), 8);
  std::string record = length + masked_crc(length);
  record += bytes;
  return record + masked_crc(bytes);
}

// Numbers of fields and values of enumerations in event.proto, summary.proto and tensor.proto.
constexpr unsigned kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5;
constexpr unsigned kSummaryValue = 1;
constexpr unsigned kValueTag = 1, kValueSimple = 2, kValueTensor = 8, kValueMetadata = 9;
constexpr unsigned kMetadataPlugin = 1, kMetadataDataClass = 4;
constexpr unsigned kPluginName = 1, kPluginContent = 2;
constexpr unsigned kTensorType = 1, kTensorShape = 2, kTensorString = 8;
constexpr unsigned kShapeDimension = 2;
constexpr int kFloat = 1, kString = 7;  // DataType
constexpr int kDataClassTensor = 2;

/// A tensorflow.Event with a summary, as a record. `wall_time`: seconds since 1970.
std::string summary_event(double wall_time, std::int64_t step, const ProtoMessage& summary) {
  return tf_record(ProtoMessage()
                       .real(kEventWallTime, wall_time)
                       .integer(kEventStep, step)
                       .message(kEventSummary, summary)
                       .bytes());
}

/// The event that every event file begins with.
std::string version_event(double wall_time) {
  return tf_record(ProtoMessage()
                       .real(kEventWallTime, wall_time)
                       .text(kEventFileVersion, "brain.Event:2")
                       .bytes());
}

// Values of a summary: messages of type tensorflow.Summary.Value.

ProtoMessage scalar_value(std::string_view tag, double value) {
  return ProtoMessage().text(kValueTag, tag).real32(kValueSimple, static_cast<float>(value));
}

ProtoMessage value_with_tensor(std::string_view tag, std::string_view plugin,
                               const std::string& content, const ProtoMessage& tensor) {
  ProtoMessage its_plugin;
  its_plugin.text(kPluginName, plugin);
  if (!content.empty()) its_plugin.text(kPluginContent, content);
  return ProtoMessage()
      .text(kValueTag, tag)
      .message(kValueTensor, tensor)
      .message(kValueMetadata, ProtoMessage()
                                   .message(kMetadataPlugin, its_plugin)
                                   .integer(kMetadataDataClass, kDataClassTensor));
}

/// A text for TensorBoard's text view, which shows Markdown.
ProtoMessage text_value(std::string_view tag, std::string_view markdown) {
  const ProtoMessage tensor = ProtoMessage()
                                  .integer(kTensorType, kString)
                                  .message(kTensorShape, ProtoMessage())
                                  .text(kTensorString, markdown);
  return value_with_tensor(tag, "text", "", tensor);
}

/// Data of a run for a plugin of TensorBoard; `content` is a message of the plugin's own.
ProtoMessage plugin_value(std::string_view tag, std::string_view plugin,
                          const ProtoMessage& content) {
  // Only the metadata count: the tensor has no elements.
  const ProtoMessage shape = ProtoMessage().message(kShapeDimension, ProtoMessage());
  const ProtoMessage tensor =
      ProtoMessage().integer(kTensorType, kFloat).message(kTensorShape, shape);
  return value_with_tensor(tag, plugin, content.bytes(), tensor);
}

/// A summary of one value.
ProtoMessage summary_of(const ProtoMessage& value) {
  return ProtoMessage().message(kSummaryValue, value);
}

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

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes)
    crc = crc >> 8U ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
  return ~crc;
}

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
      summary.message(kSummaryValue, scalar_value(tags[series], value));
    last = moment.position.gradients;
    write(summary_event(began + moment.position.seconds, last, summary));
  });
  if (!run.summary.finished.empty())
    write(summary_event(
        unix_seconds(run.summary.finished), last,
        summary_of(plugin_value("_hparams_/session_end_info", "hparams", session_end(run)))));
}

}  // namespace acid
