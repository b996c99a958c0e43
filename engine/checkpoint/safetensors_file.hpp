#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/descriptor.hpp"

namespace acid {

// The safetensors container, which models and checkpoints share: the header's length (64 bits,
// little-endian), a JSON header padded with spaces so that the data start at a multiple of 8, the
// data. Acid writes f32, i64 and u8. A data set may have all types but `other`, which acid cannot
// read: such a tensor may lie beside the tensors that are asked for.

enum class TensorType { f32, i64, u8, f64, i32, i16, i8, u64, u32, u16, f16, bf16, other };
std::string_view tensor_type_name(TensorType type);  // as in the header: "F32"
std::size_t element_bytes(TensorType type);

struct TensorHeader {
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // in bytes
  bool boolean = false;              // of type u8, each 0 or 1
  std::string other = {};            // the file's name for the type `other`
};
// The type's name in the file: also "BOOL", and names of unknown types.
std::string_view type_name(const TensorHeader& tensor);

/// The bytes of its elements; absent when the number is too large.
std::optional<std::uint64_t> bytes_of(const TensorHeader& tensor);

/// The beginning of a file: the header with its length. The tensors' data follow in the order
/// given; begin and end of the tensors are not used.
std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               const std::vector<std::pair<std::string, TensorHeader>>& tensors);

/// What is wrong with a file; without its name.
class BadSafetensors : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// There is no file of that name.
class MissingSafetensors : public BadSafetensors {
 public:
  using BadSafetensors::BadSafetensors;
};

/// A safetensors file to read from. Its header is checked: the tensors fill the data without gap or
/// overlap and, except for those of type `other`, have the size of their shape. A faulty file is a
/// BadSafetensors, a missing one a MissingSafetensors; a file that cannot be read at the moment is
/// a StoreError. Any thread may call all members.
class SafetensorsFile {
 public:
  /// With `sha256`, first checks that the file has that digest.
  explicit SafetensorsFile(const std::string& path, std::string_view sha256 = {});

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Tensors by name; begin and end count from the beginning of the file.
  const std::map<std::string, TensorHeader>& tensors() const { return tensors_; }
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  [[noreturn]] void unreadable() const;  // throws for errno
  void check_digest(std::string_view sha256) const;
  void parse(const std::string& text, std::uint64_t data_begin);
  void check_layout(std::uint64_t data_begin) const;

  std::string path_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, TensorHeader> tensors_;
};

}  // namespace acid
