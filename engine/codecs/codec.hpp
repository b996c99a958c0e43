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

/// What receivers get of a vector that is said, and what travels of it. A codec that draws numbers
/// draws them as Draw says. Vectors are not empty. Immutable; any thread.
class Codec {
 public:
  /// Which draws a message has.
  struct Draw {
    std::uint64_t seed = 0;  // of the run, Purpose::dither
    std::uint32_t sender = 0;
    std::uint64_t message = 0;  // of this sender
  };
  virtual ~Codec() = default;

  /// Whether it leaves out a part of a vector, and not just digits.
  virtual bool leaves_out() const = 0;
  /// Of a packed vector of so many elements, in whole floats.
  virtual std::size_t packed_floats(std::size_t size) const = 0;
  /// values ← what receivers get of them.
  virtual void project(const Draw& draw, std::span<float> values) const = 0;
  /// `out`, which is 0, ← what travels of values that project() made; unpack() of it gives them
  /// back to the bit.
  virtual void pack(const Draw& draw, std::span<const float> values,
                    std::span<float> out) const = 0;
  /// The message's number is not looked at. `key`: the receiver's own message as project() left it,
  /// where needs_own().
  virtual void unpack(const Draw& draw, std::span<const float> packed, std::span<const float> key,
                      std::span<float> out) const = 0;

  /// Whether some elements may not fit: these travel as they are, beside what is packed.
  virtual bool has_gaps() const { return false; }
  /// Whether what fits depends on what the receiver has said itself: where there may be gaps and
  /// receivers say anything.
  virtual bool needs_own() const { return false; }
  /// What does not fit. `a` and `b`: what each of two projected, or what was unpacked of it; both
  /// find the same. `b` is looked at where needs_own().
  virtual Gaps gaps(std::span<const float> /*a*/, std::span<const float> /*b*/) const { return {}; }
};

/// A kind of codec as recipes call it, and its keys.
struct CodecEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Field> fields;
  /// `options` holds every field. `receivers_say`: they have a message of their own, unlike a
  /// server. Null for "none".
  std::shared_ptr<const Codec> (*make)(const nlohmann::json& options, bool receivers_say);
};

/// In catalog order; "none" is the first.
std::span<const CodecEntry> codec_catalog();
/// Keys of all kinds.
std::span<const Field> codec_fields();
/// From resolved options with "kind", which is not "none".
std::shared_ptr<const Codec> codec_of(const nlohmann::json& options, bool receivers_say);

}  // namespace acid
