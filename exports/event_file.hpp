#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace acid {

/// The lowest bytes of a number, the lowest first.
std::string little_endian(std::uint64_t value, int size);

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

/// CRC-32C (Castagnoli), as in iSCSI. `crc`: that of the bytes before, to continue from.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);

/// A record of a TFRecord file: its length (64 bits, little-endian), the masked CRC-32C of the
/// length, its bytes, and their masked CRC-32C. The mask rotates the sum right by 15 bits and adds
/// 0xa282ead8, so that a sum over data that contain sums is still useful.
std::string tf_record(std::string_view bytes);

/// A tensorflow.Event with a summary, as a record. `wall_time`: seconds since 1970.
std::string summary_event(double wall_time, std::int64_t step, const ProtoMessage& summary);
/// The event that every event file begins with.
std::string version_event(double wall_time);

// Values of a summary: messages of type tensorflow.Summary.Value.

ProtoMessage scalar_value(std::string_view tag, double value);
/// A text for TensorBoard's text view, which shows Markdown.
ProtoMessage text_value(std::string_view tag, std::string_view markdown);
/// Data of a run for a plugin of TensorBoard; `content` is a message of the plugin's own.
ProtoMessage plugin_value(std::string_view tag, std::string_view plugin,
                          const ProtoMessage& content);
/// A summary of one value.
ProtoMessage summary_of(const ProtoMessage& value);
void add_value(ProtoMessage& summary, const ProtoMessage& value);

}  // namespace acid
