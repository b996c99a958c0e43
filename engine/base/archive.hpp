#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"

namespace acid {

// Binary state, described once for both directions. A class whose state is kept has
//   template <class Archive> void persist(Archive& archive) { archive(a_, b_, c_); }
// and an ArchiveWriter or an ArchiveReader visits the members in this order. Numbers are
// little-endian at their own width, lists have a 64-bit length first. There are no tags: the reader
// must know what was written, so files that hold an archive carry a version.

namespace archive_detail {

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
concept List = requires(T list, typename T::value_type value) {
  list.push_back(value);
  list.clear();
};
template <class T>
concept Map = requires {
  typename T::key_type;
  typename T::mapped_type;
};

}  // namespace archive_detail

static_assert(std::endian::native == std::endian::little, "archives are kept little-endian");

class ArchiveWriter {
 public:
  static constexpr bool kReads = false;

  template <class... Values>
  void operator()(const Values&... values) {
    (write(values), ...);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  template <class T>
  void write(const T& value) {
    using namespace archive_detail;
    if constexpr (Number<T>) {
      const auto* first = reinterpret_cast<const std::byte*>(&value);
      bytes_.insert(bytes_.end(), first, first + sizeof value);
    } else if constexpr (Map<T> || List<T>) {
      write(static_cast<std::uint64_t>(value.size()));
      for (const auto& element : value) write(element);
    } else {
      write_other(value);
    }
  }
  template <class A, class B>
  void write_other(const std::pair<A, B>& value) {
    (*this)(value.first, value.second);
  }
  template <class T>
  void write_other(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  template <class T>
  void write_other(const T& value) {
    const_cast<T&>(value).persist(*this);  // serves both directions; the writer only reads
  }

  std::vector<std::byte> bytes_;
};

/// Reads what an ArchiveWriter wrote. Throws Error, never reads beyond the bytes, and makes no list
/// longer than the bytes that are left could fill.
class ArchiveReader {
 public:
  static constexpr bool kReads = true;

  /// The bytes must outlive the reader.
  explicit ArchiveReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class... Values>
  void operator()(Values&... values) {
    (read(values), ...);
  }
  std::size_t left() const { return left_.size(); }

 private:
  template <class T>
  void read(T& value) {
    using namespace archive_detail;
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      read(byte);
      value = byte != 0;
    } else if constexpr (Number<T>) {
      if (left_.size() < sizeof value) ends_early();
      std::memcpy(&value, left_.data(), sizeof value);
      left_ = left_.subspan(sizeof value);
    } else if constexpr (Map<T>) {
      value.clear();
      for (std::uint64_t count = length(); count > 0; --count) {
        std::pair<typename T::key_type, typename T::mapped_type> element;
        read(element);
        value.insert(std::move(element));
      }
    } else if constexpr (List<T>) {
      value.clear();
      for (std::uint64_t count = length(); count > 0; --count) {
        typename T::value_type element{};
        read(element);
        value.push_back(std::move(element));
      }
    } else {
      read_other(value);
    }
  }
  template <class A, class B>
  void read_other(std::pair<A, B>& value) {
    (*this)(value.first, value.second);
  }
  template <class T>
  void read_other(std::optional<T>& value) {
    bool present = false;
    read(present);
    value.reset();
    if (present) read(value.emplace(T{}));  // clang 14 refuses emplace() of nested types
  }
  template <class T>
  void read_other(T& value) {
    value.persist(*this);
  }
  // Every element needs at least a byte.
  std::uint64_t length() {
    std::uint64_t count = 0;
    read(count);
    if (count > left_.size()) ends_early();
    return count;
  }
  [[noreturn]] static void ends_early() { throw Error("the saved state ends early"); }

  std::span<const std::byte> left_;
};

}  // namespace acid
