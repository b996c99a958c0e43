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

namespace acid {

// The safetensors container, which models and checkpoints share: the header's length (64 bits,
// little-endian), a JSON header, the data. Padded with spaces, so that data start at a multiple
// of 8. Acid writes f32, i64 and u8; a data set may be of any of these but `other`, which is what
// it does not read: such a tensor can lie beside those that are asked for.

enum class TensorType { f32, i64, u8, f64, i32, i16, i8, u64, u32, u16, f16, bf16, other };
std::string_view tensor_type_name(TensorType type);  // as in the header: "F32"
std::size_t element_bytes(TensorType type);

struct TensorHeader {
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // in bytes
  bool boolean = false;              // of type u8, each 0 or 1
  std::string other = {};            // what a file calls the type `other`
};
std::string_view type_name(const TensorHeader& tensor);  // "BOOL" too, and that of any other

/// What its elements take; nothing when that is not representable.
std::optional<std::uint64_t> bytes_of(const TensorHeader& tensor);

/// What a file begins with, its length included. The tensors' data follow in the order given;
/// begin and end are not looked at.
std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               const std::vector<std::pair<std::string, TensorHeader>>& tensors);

/// What is wrong with a file; without its name.
class BadSafetensors : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// There is no file under that name.
class MissingSafetensors : public BadSafetensors {
 public:
  using BadSafetensors::BadSafetensors;
};

/// A file to read from; nothing it says is believed before it is checked: the tensors fill the data
/// without gap or overlap and, but for those of type `other`, have the size that their shape says.
/// What is wrong with the file is a BadSafetensors, a MissingSafetensors when there is none; that
/// it cannot be read at the moment is a StoreError, which says nothing about the file. Threads: all
/// members may be called from any.
class SafetensorsFile {
 public:
  /// With `sha256`, first makes sure that the file has that digest.
  explicit SafetensorsFile(const std::string& path, std::string_view sha256 = {});

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// By name; begin and end count from the beginning of the file.
  const std::map<std::string, TensorHeader>& tensors() const { return tensors_; }
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  struct Descriptor {
    int number = -1;
    Descriptor() = default;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor();
  };
  [[noreturn]] void unreadable() const;  // for the reason in errno
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
