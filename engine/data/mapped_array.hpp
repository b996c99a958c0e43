#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
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

  /// All elements. `Number` must be what type() says (asserted).
  template <class Number>
  std::span<const Number> values() const {
    ACID_ASSERT(header_.type == tensor_type<Number>(), "{} is of type {}", name_,
                tensor_type_name(header_.type));
    return {reinterpret_cast<const Number*>(memory_.get() + header_.begin),
            static_cast<std::size_t>(size())};
  }
  /// look(values<Number>()) with the Number of type().
  template <class Look>
  decltype(auto) visit(Look look) const;

  [[noreturn]] void fail(std::string_view problem, std::string_view remedy) const;

 private:
  MappedArray(const std::string& path, std::string name, TensorHeader header);
  template <class Number>
  static constexpr TensorType tensor_type();

  std::string name_;
  TensorHeader header_;                      // begin and end count from the beginning of the file
  std::shared_ptr<const std::byte> memory_;  // the whole file
};

/// Parses the header of a .npy file: begin is where the array begins, end is where the file must
/// end. Throws Error that begins with `path`.
TensorHeader npy_header(const std::string& path, std::string_view first_bytes);
/// The number of first bytes that npy_header may need.
constexpr std::size_t kMostNpyHeaderBytes = 1 << 16;

template <class Number>
constexpr TensorType MappedArray::tensor_type() {
  if constexpr (std::is_same_v<Number, float>) return TensorType::f32;
  if constexpr (std::is_same_v<Number, double>) return TensorType::f64;
  if constexpr (std::is_same_v<Number, std::int8_t>) return TensorType::i8;
  if constexpr (std::is_same_v<Number, std::int16_t>) return TensorType::i16;
  if constexpr (std::is_same_v<Number, std::int32_t>) return TensorType::i32;
  if constexpr (std::is_same_v<Number, std::int64_t>) return TensorType::i64;
  if constexpr (std::is_same_v<Number, std::uint8_t>) return TensorType::u8;
  if constexpr (std::is_same_v<Number, std::uint16_t>) return TensorType::u16;
  if constexpr (std::is_same_v<Number, std::uint32_t>) return TensorType::u32;
  if constexpr (std::is_same_v<Number, std::uint64_t>) return TensorType::u64;
  if constexpr (std::is_same_v<Number, Float16>) return TensorType::f16;
  if constexpr (std::is_same_v<Number, BFloat16>) return TensorType::bf16;
}

template <class Look>
decltype(auto) MappedArray::visit(Look look) const {
  switch (header_.type) {
    case TensorType::f32:
      return look(values<float>());
    case TensorType::f64:
      return look(values<double>());
    case TensorType::i8:
      return look(values<std::int8_t>());
    case TensorType::i16:
      return look(values<std::int16_t>());
    case TensorType::i32:
      return look(values<std::int32_t>());
    case TensorType::i64:
      return look(values<std::int64_t>());
    case TensorType::u8:
      return look(values<std::uint8_t>());
    case TensorType::u16:
      return look(values<std::uint16_t>());
    case TensorType::u32:
      return look(values<std::uint32_t>());
    case TensorType::f16:
      return look(values<Float16>());
    case TensorType::bf16:
      return look(values<BFloat16>());
    case TensorType::u64:
    case TensorType::other:  // the constructor refuses it
      break;
  }
  return look(values<std::uint64_t>());
}

}  // namespace acid
