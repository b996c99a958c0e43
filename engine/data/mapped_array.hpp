#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/checkpoint/safetensors_file.hpp"
#include "engine/data/half.hpp"

namespace acid {

/// An array of numbers in a file, mapped into memory rather than read: only visited pages cost
/// memory, and the system may take them back. In C order: the last index runs fastest. Copies share
/// the mapping. Immutable; any thread may read. The file must not shrink meanwhile: the system ends
/// a program that reads beyond the file's end.
class MappedArray {
 public:
  /// Maps a file that numpy.save wrote,
  /// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html: versions 1 to 3;
  /// booleans, integers, float16, float32 and float64, little-endian. The header is checked before
  /// use. Throws Error naming the file, what is wrong with it and what to do.
  static MappedArray npy(const std::string& path);
  /// Maps a tensor of a safetensors file. Throws the same errors, and one that lists the tensors
  /// when there is none of that name.
  static MappedArray safetensors(const std::string& path, const std::string& tensor);

  /// The name for messages: the file, and the tensor where there are several.
  const std::string& name() const { return name_; }
  TensorType type() const { return header_.type; }
  /// Whether the elements are of type u8, each 0 or 1.
  bool is_boolean() const { return header_.boolean; }
  std::string_view type_name() const { return acid::type_name(header_); }
  const std::vector<std::int64_t>& shape() const { return header_.shape; }
  std::int64_t size() const;  // elements

  /// look(values) with all elements, a span of what type() says.
  template <class Look, std::size_t index = 0>
  decltype(auto) visit(const Look& look) const {
    if constexpr (index + 1 < std::tuple_size_v<Numbers>)
      if (header_.type != static_cast<TensorType>(index)) return visit<Look, index + 1>(look);
    using Number = std::tuple_element_t<index, Numbers>;
    return look(std::span(reinterpret_cast<const Number*>(memory_.get() + header_.begin),
                          static_cast<std::size_t>(size())));
  }

  [[noreturn]] void fail(std::string_view problem, std::string_view remedy) const;

 private:
  // In the order of TensorType, but for `other`, which the constructor refuses.
  using Numbers =
      std::tuple<float, std::int64_t, std::uint8_t, double, std::int32_t, std::int16_t, std::int8_t,
                 std::uint64_t, std::uint32_t, std::uint16_t, Float16, BFloat16>;
  static_assert(std::tuple_size_v<Numbers> == static_cast<std::size_t>(TensorType::other));
  template <TensorType type>
  using NumberOf = std::tuple_element_t<static_cast<std::size_t>(type), Numbers>;
  static_assert(std::is_same_v<NumberOf<TensorType::u8>, std::uint8_t> &&
                std::is_same_v<NumberOf<TensorType::f64>, double> &&
                std::is_same_v<NumberOf<TensorType::i8>, std::int8_t> &&
                std::is_same_v<NumberOf<TensorType::bf16>, BFloat16>);

  MappedArray(const std::string& path, std::string name, TensorHeader header);

  std::string name_;
  TensorHeader header_;                      // begin and end count from the beginning of the file
  std::shared_ptr<const std::byte> memory_;  // the whole file
};

/// Parses the header of a .npy file: begin is where the array begins, end is where the file must
/// end. Throws Error that begins with `path`.
TensorHeader npy_header(const std::string& path, std::string_view first_bytes);
/// The number of first bytes that npy_header may need.
constexpr std::size_t kMostNpyHeaderBytes = 1 << 16;

}  // namespace acid
