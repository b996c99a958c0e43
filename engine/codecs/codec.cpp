#include "engine/codecs/codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/rng.hpp"
#include "engine/codecs/bits.hpp"

namespace acid {
namespace {

constexpr std::array kTopK = {
    Field{.name = "share",
          .type = FieldType::number,
          .fallback = {},
          .help = "of the elements that are sent, the largest ones",
          .minimum = 0,
          .maximum = 1,
          .minimum_excluded = true},
    Field{.name = "chunk",
          .type = FieldType::integer,
          .fallback = "0",
          .help = "elements that compete with each other; 0: all of the vector",
          .minimum = 0,
          .maximum = 1e9},
};
constexpr std::array kRandomK = {
    Field{.name = "share",
          .type = FieldType::number,
          .fallback = {},
          .help = "of the elements that are sent, drawn anew for every message",
          .minimum = 0,
          .maximum = 1,
          .minimum_excluded = true},
    Field{.name = "common",
          .type = FieldType::boolean,
          .fallback = "false",
          .help = "all workers send the same elements"},
};
constexpr std::array kLattice = {
    Field{.name = "bits",
          .type = FieldType::integer,
          .fallback = "8",
          .help = "of an element; what two say may differ by spacing · (2^bits − 1) / 2",
          .minimum = 2,
          .maximum = 16},
    Field{.name = "spacing",
          .type = FieldType::number,
          .fallback = {},
          .help = "of neighbouring numbers; an element is off by half of it at most",
          .minimum = 0,
          .maximum = 1e6,
          .minimum_excluded = true},
};
constexpr std::array kFeedback = {
    Field{.name = "error_feedback",
          .type = FieldType::boolean,
          .fallback = "false",
          .help = "what a message leaves out is added to the next"},
};
constexpr std::array kCodecs = {
    CodecEntry{"none", "messages travel as they are", {}},
    CodecEntry{"bf16", "the nearest of 16 bits", {}},
    CodecEntry{"top-k", "the largest magnitudes", kTopK},
    CodecEntry{"random-k", "coordinates drawn at random", kRandomK},
    CodecEntry{"sign", "the mean magnitude with each element's sign", {}},
    CodecEntry{"lattice", "few bits around what the receiver has; around 0 at a server", kLattice}};

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint32_t magnitude(float value) { return bits_of(value) & 0x7fffffffu; }

float to_bf16(float value) {
  std::uint32_t bits = bits_of(value);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits += 0x7fffu + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xffff0000u);
}

// Positions of the `count` largest magnitudes, ascending.
std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count) {
  std::vector<std::uint64_t> keys(values.size());  // larger magnitude first, then lower index
  for (std::size_t i = 0; i < values.size(); ++i)
    keys[i] = static_cast<std::uint64_t>(0x7fffffffu - magnitude(values[i])) << 32 | i;
  std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count - 1), keys.end());
  std::vector<std::uint32_t> positions(count);
  for (std::size_t k = 0; k < count; ++k) positions[k] = static_cast<std::uint32_t>(keys[k]);
  std::ranges::sort(positions);
  return positions;
}

std::vector<std::uint64_t> drawn(const Codec& codec, const Codec::Draw& draw, std::size_t size,
                                 std::size_t count) {
  const std::uint64_t key =
      Stream(draw.seed, draw.message).next64() ^
      (codec.common ? 0 : Stream(draw.seed, ~std::uint64_t{draw.sender}).next64());
  std::vector<std::uint64_t> positions(count);
  Permutation(key, size).range(0, positions);
  return positions;
}

Stream dither(const Codec::Draw& draw) {
  return Stream(Stream(draw.seed, ~std::uint64_t{draw.sender}).next64(), draw.message);
}

float mean_magnitude(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += std::abs(static_cast<double>(value));
  return static_cast<float>(sum / static_cast<double>(std::max<std::size_t>(1, values.size())));
}

}  // namespace

std::size_t Codec::chunk_size(std::size_t size) const {
  return chunk == 0 ? size : std::min(chunk, size);
}

std::size_t Codec::kept(std::size_t elements) const {
  const double wanted = std::round(share * static_cast<double>(elements));
  return std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, elements);
}

std::size_t Codec::packed_floats(std::size_t size) const {
  if (size == 0) return 0;
  switch (kind) {
    case CodecKind::bf16:
      return floats_of_bits(16 * size);
    case CodecKind::sign:
      return 1 + floats_of_bits(size);
    case CodecKind::random_k:
      return 1 + kept(size);
    case CodecKind::lattice:
      return 1 + lattice.packed_floats(size);
    case CodecKind::top_k:
      break;
  }
  const std::size_t each = chunk_size(size), whole = size / each, rest = size % each;
  const std::size_t count = whole * kept(each) + (rest > 0 ? kept(rest) : 0);
  return count + floats_of_bits(count * static_cast<std::size_t>(std::bit_width(each - 1)));
}

void Codec::project(const Draw& draw, std::span<float> values) const {
  switch (kind) {
    case CodecKind::bf16:
      for (float& value : values) value = to_bf16(value);
      return;
    case CodecKind::sign: {
      const float scale = mean_magnitude(values);
      for (float& value : values) value = std::signbit(value) ? -scale : scale;
      return;
    }
    case CodecKind::random_k: {
      std::vector<float> sent(values.size());
      for (const std::uint64_t at : drawn(*this, draw, values.size(), kept(values.size())))
        sent[at] = values[at];
      std::ranges::copy(sent, values.begin());
      return;
    }
    case CodecKind::lattice:
      return lattice.project(dither(draw), values);
    case CodecKind::top_k:
      break;
  }
  const std::size_t each = chunk_size(values.size());
  for (std::size_t first = 0; first < values.size(); first += each) {
    const std::span<float> part = values.subspan(first, std::min(each, values.size() - first));
    std::vector<float> sent(part.size());
    // A zero has no sign: pack() may choose another of them.
    for (const std::uint32_t at : largest(part, kept(part.size()))) sent[at] = part[at] + 0.0f;
    std::ranges::copy(sent, part.begin());
  }
}

void Codec::pack(const Draw& draw, std::span<const float> values, std::span<float> out) const {
  std::ranges::fill(out, 0.0f);
  switch (kind) {
    case CodecKind::bf16: {
      auto* const halves = reinterpret_cast<std::byte*>(out.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto half = static_cast<std::uint16_t>(bits_of(values[i]) >> 16);
        std::memcpy(halves + 2 * i, &half, sizeof half);
      }
      return;
    }
    case CodecKind::sign: {
      out[0] = std::abs(values[0]);
      BitWriter bits(out.subspan(1));
      for (const float value : values) bits.add(std::signbit(value) ? 1 : 0, 1);
      return;
    }
    case CodecKind::random_k: {
      out[0] = std::bit_cast<float>(static_cast<std::uint32_t>(draw.message));
      std::size_t k = 1;
      for (const std::uint64_t at : drawn(*this, draw, values.size(), kept(values.size())))
        out[k++] = values[at];
      return;
    }
    case CodecKind::lattice:
      out[0] = std::bit_cast<float>(static_cast<std::uint32_t>(draw.message));
      return lattice.pack(dither({draw.seed, draw.sender, bits_of(out[0])}), values,
                          out.subspan(1));
    case CodecKind::top_k:
      break;
  }
  const std::size_t each = chunk_size(values.size());
  std::vector<std::uint32_t> positions;
  std::size_t count = 0;
  for (std::size_t first = 0; first < values.size(); first += each) {
    const auto part = values.subspan(first, std::min(each, values.size() - first));
    for (const std::uint32_t at : largest(part, kept(part.size()))) {
      positions.push_back(at);
      out[count++] = part[at];
    }
  }
  BitWriter bits(out.subspan(count));
  const auto width = static_cast<unsigned>(std::bit_width(each - 1));
  for (const std::uint32_t at : positions) bits.add(at, width);
}

void Codec::unpack(const Draw& draw, std::span<const float> packed, std::span<const float> key,
                   std::span<float> out) const {
  ACID_ASSERT(packed.size() == packed_floats(out.size()), "{} packed floats of {}", packed.size(),
              out.size());
  switch (kind) {
    case CodecKind::bf16: {
      const auto* const halves = reinterpret_cast<const std::byte*>(packed.data());
      for (std::size_t i = 0; i < out.size(); ++i) {
        std::uint16_t half = 0;
        std::memcpy(&half, halves + 2 * i, sizeof half);
        out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
      }
      return;
    }
    case CodecKind::sign: {
      BitReader bits(packed.subspan(1));
      for (float& value : out) value = bits.take(1) != 0 ? -packed[0] : packed[0];
      return;
    }
    case CodecKind::random_k: {
      std::ranges::fill(out, 0.0f);
      Draw of_message = draw;
      of_message.message = bits_of(packed[0]);
      std::size_t k = 1;
      for (const std::uint64_t at : drawn(*this, of_message, out.size(), kept(out.size())))
        out[at] = packed[k++];
      return;
    }
    case CodecKind::lattice:
      return lattice.unpack(dither({draw.seed, draw.sender, bits_of(packed[0])}), packed.subspan(1),
                            key, out);
    case CodecKind::top_k:
      break;
  }
  std::ranges::fill(out, 0.0f);
  const std::size_t each = chunk_size(out.size());
  const auto width = static_cast<unsigned>(std::bit_width(each - 1));
  const std::size_t rest = out.size() % each;
  const std::size_t count = out.size() / each * kept(each) + (rest > 0 ? kept(rest) : 0);
  BitReader bits(packed.subspan(count));
  std::size_t k = 0;
  for (std::size_t first = 0; first < out.size(); first += each) {
    const std::size_t elements = std::min(each, out.size() - first);
    for (std::size_t sent = kept(elements); sent > 0; --sent) {
      const std::size_t at = bits.take(width);
      ACID_ASSERT(at < elements, "a packed vector names element {} of {}", at, elements);
      out[first + at] = packed[k++];
    }
  }
}

std::span<const CodecEntry> codec_catalog() { return kCodecs; }
std::span<const Field> codec_fields() { return kFeedback; }

Codec codec_of(const nlohmann::json& options) {
  Codec codec;
  const std::string kind = text(options, "kind");
  codec.error_feedback = options.at("error_feedback").get<bool>();
  if (kind == "bf16") return codec;
  if (kind == "sign") {
    codec.kind = CodecKind::sign;
    return codec;
  }
  if (kind == "lattice") {
    codec.kind = CodecKind::lattice;
    codec.lattice = {static_cast<unsigned>(integer(options, "bits")), number(options, "spacing")};
    return codec;
  }
  codec.share = number(options, "share");
  if (kind == "top-k") {
    codec.kind = CodecKind::top_k;
    codec.chunk = static_cast<std::size_t>(integer(options, "chunk"));
    return codec;
  }
  ACID_ASSERT(kind == "random-k", "a codec called '{}'", kind);
  codec.kind = CodecKind::random_k;
  codec.common = options.at("common").get<bool>();
  return codec;
}

}  // namespace acid
