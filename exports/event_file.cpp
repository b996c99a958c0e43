#include "exports/event_file.hpp"

#include <array>

namespace acid {
namespace {

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

}  // namespace

std::string little_endian(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc) {
  crc = ~crc;
  for (const char c : bytes)
    crc = crc >> 8U ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
  return ~crc;
}

std::string tf_record(std::string_view bytes) {
  const std::string length = little_endian(bytes.size(), 8);
  std::string record = length + masked_crc(length);
  record += bytes;
  return record + masked_crc(bytes);
}

std::string summary_event(double wall_time, std::int64_t step, const ProtoMessage& summary) {
  return tf_record(ProtoMessage()
                       .real(kEventWallTime, wall_time)
                       .integer(kEventStep, step)
                       .message(kEventSummary, summary)
                       .bytes());
}

std::string version_event(double wall_time) {
  return tf_record(ProtoMessage()
                       .real(kEventWallTime, wall_time)
                       .text(kEventFileVersion, "brain.Event:2")
                       .bytes());
}

ProtoMessage scalar_value(std::string_view tag, double value) {
  return ProtoMessage().text(kValueTag, tag).real32(kValueSimple, static_cast<float>(value));
}

ProtoMessage text_value(std::string_view tag, std::string_view markdown) {
  const ProtoMessage tensor = ProtoMessage()
                                  .integer(kTensorType, kString)
                                  .message(kTensorShape, ProtoMessage())
                                  .text(kTensorString, markdown);
  return value_with_tensor(tag, "text", "", tensor);
}

ProtoMessage plugin_value(std::string_view tag, std::string_view plugin,
                          const ProtoMessage& content) {
  // Only the metadata count: the tensor has no elements.
  const ProtoMessage shape = ProtoMessage().message(kShapeDimension, ProtoMessage());
  const ProtoMessage tensor =
      ProtoMessage().integer(kTensorType, kFloat).message(kTensorShape, shape);
  return value_with_tensor(tag, plugin, content.bytes(), tensor);
}

ProtoMessage summary_of(const ProtoMessage& value) {
  return ProtoMessage().message(kSummaryValue, value);
}

void add_value(ProtoMessage& summary, const ProtoMessage& value) {
  summary.message(kSummaryValue, value);
}

}  // namespace acid
