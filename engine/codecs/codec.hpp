#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/fields.hpp"

namespace acid {

/// Elements of a message that do not fit its codec, in ranges [first, last), ascending and apart.
using Gaps = std::vector<std::pair<std::size_t, std::size_t>>;

/// Compresses vectors of messages: what receivers get of a vector, and what travels. Vectors are
/// not empty. Immutable; any thread.
class Codec {
 public:
  /// Identifies the random numbers of a message.
  struct Draw {
    std::uint64_t seed = 0;  // of the run, Purpose::dither
    std::uint32_t sender = 0;
    std::uint64_t message = 0;  // number, by sender
  };
  virtual ~Codec() = default;

  /// Whether it drops parts of a vector, not only digits.
  virtual bool leaves_out() const = 0;
  /// Whether messages with the same number leave out the same elements, whoever says them.
  virtual bool is_common() const { return false; }
  /// Size in floats of a packed vector of `size` elements.
  virtual std::size_t packed_floats(std::size_t size) const = 0;
  /// values ← what receivers get of them.
  virtual void project(const Draw& draw, std::span<float> values) const = 0;
  /// `out`, zeroed, ← the packed form of values that project() made; unpack() gives the same bits.
  virtual void pack(const Draw& draw, std::span<const float> values,
                    std::span<float> out) const = 0;
  /// Does not read draw.message. `key`: the receiver's own message as project() left it, if
  /// needs_own().
  virtual void unpack(const Draw& draw, std::span<const float> packed, std::span<const float> key,
                      std::span<float> out) const = 0;

  /// Whether some elements may not fit: these are sent uncompressed, in addition.
  virtual bool has_gaps() const { return false; }
  /// Whether the gaps depend on the receiver's own message.
  virtual bool needs_own() const { return false; }
  /// The elements that do not fit. `a` and `b`: the messages of the two ends, projected or
  /// unpacked; both ends find the same gaps. `b` is read if needs_own().
  virtual Gaps gaps(std::span<const float> /*a*/, std::span<const float> /*b*/) const { return {}; }
};

/// A kind of codec in recipes, and its keys.
struct CodecEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Field> fields;
  /// `options` holds every field. `receivers_say`: receivers send a message too, unlike a server.
  /// Null for "none".
  std::shared_ptr<const Codec> (*make)(const nlohmann::json& options, bool receivers_say);
};

/// In catalog order; "none" is the first.
std::span<const CodecEntry> codec_catalog();
/// The keys of all kinds.
std::span<const Field> codec_fields();
/// `options`: resolved, with a "kind" other than "none".
std::shared_ptr<const Codec> codec_of(const nlohmann::json& options, bool receivers_say);

}  // namespace acid
