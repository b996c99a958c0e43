#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exports/protobuf.hpp"

namespace acid {

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
