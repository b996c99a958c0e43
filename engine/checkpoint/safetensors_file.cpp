#include "engine/checkpoint/safetensors_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr const char* kMetadataKey = "__metadata__";
// A header has about 100 bytes a tensor. The bound keeps a hostile file from filling the memory.
constexpr std::uint64_t kMostHeaderBytes = 16 << 20;

struct TypeEntry {
  TensorType type;
  std::string_view name;
  std::size_t element_bytes;
};
// In the order of TensorType.
constexpr std::array<TypeEntry, 13> kTypes{{{TensorType::f32, "F32", 4},
                                            {TensorType::i64, "I64", 8},
                                            {TensorType::u8, "U8", 1},
                                            {TensorType::f64, "F64", 8},
                                            {TensorType::i32, "I32", 4},
                                            {TensorType::i16, "I16", 2},
                                            {TensorType::i8, "I8", 1},
                                            {TensorType::u64, "U64", 8},
                                            {TensorType::u32, "U32", 4},
                                            {TensorType::u16, "U16", 2},
                                            {TensorType::f16, "F16", 2},
                                            {TensorType::bf16, "BF16", 2},
                                            {TensorType::other, "", 1}}};
constexpr std::string_view kBoolean = "BOOL";

const TypeEntry& entry_of(TensorType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::uint64_t whole_number(const json& value, const std::string& tensor) {
  // A number beyond the signed range is neither a size nor a place in a file.
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX)
    throw BadSafetensors(fmt::format("tensor {} has a number that is not a size", tensor));
  return value.get<std::uint64_t>();
}

TensorHeader parse_tensor(const std::string& name, const json& entry) {
  TensorHeader tensor;
  const std::string& type = entry.at("dtype").get_ref<const std::string&>();
  const auto known = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const TypeEntry& each) { return each.name == type; });
  tensor.boolean = type == kBoolean;
  tensor.type = tensor.boolean          ? TensorType::u8
                : known != kTypes.end() ? known->type
                                        : TensorType::other;
  if (tensor.type == TensorType::other) tensor.other = type;
  for (const json& extent : entry.at("shape").get_ref<const json::array_t&>())
    tensor.shape.push_back(static_cast<std::int64_t>(whole_number(extent, name)));
  const auto& range = entry.at("data_offsets").get_ref<const json::array_t&>();
  if (range.size() != 2) throw BadSafetensors(fmt::format("tensor {} has no place", name));
  tensor.begin = whole_number(range[0], name);
  tensor.end = whole_number(range[1], name);
  return tensor;
}

}  // namespace

std::string_view tensor_type_name(TensorType type) { return entry_of(type).name; }
std::string_view type_name(const TensorHeader& tensor) {
  if (tensor.boolean) return kBoolean;
  return tensor.type == TensorType::other ? tensor.other : tensor_type_name(tensor.type);
}
std::size_t element_bytes(TensorType type) { return entry_of(type).element_bytes; }

std::optional<std::uint64_t> bytes_of(const TensorHeader& tensor) {
  std::uint64_t bytes = element_bytes(tensor.type);
  bool empty = false;
  for (const std::int64_t extent : tensor.shape) {
    empty |= extent == 0;
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)),
                               &bytes))
      return std::nullopt;
  }
  return empty ? 0 : bytes;
}

std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               const std::vector<std::pair<std::string, TensorHeader>>& tensors) {
  json header = json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::optional<std::uint64_t> bytes = bytes_of(tensor);
    ACID_ASSERT(bytes, "tensor {}", name);
    ACID_ASSERT(!header.contains(name), "two tensors are called {}", name);
    header[name] = {{"dtype", type_name(tensor)},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + *bytes}}};
    offset += *bytes;
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  ACID_ASSERT(length <= kMostHeaderBytes, "{} bytes of header", length);
  std::string prefix(sizeof length, '\0');
  for (std::size_t k = 0; k < sizeof length; ++k) prefix[k] = static_cast<char>(length >> (8 * k));
  return prefix + text;
}

SafetensorsFile::SafetensorsFile(const std::string& path, std::string_view sha256) : path_(path) {
  // Without O_NONBLOCK, opening a pipe could wait forever; for a file it means nothing.
  descriptor_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor_ && (errno == ENOENT || errno == ENOTDIR))
    throw MissingSafetensors(std::strerror(errno));
  struct stat status {};
  if (!descriptor_ || ::fstat(descriptor_.get(), &status) != 0) unreadable();
  if (!S_ISREG(status.st_mode)) throw BadSafetensors("it is not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (!sha256.empty()) check_digest(sha256);

  unsigned char prefix[8];
  if (size_ < sizeof prefix)
    throw BadSafetensors(fmt::format("it ends within the header's length, after {} bytes", size_));
  read_at(0, std::as_writable_bytes(std::span(prefix)));
  std::uint64_t length = 0;
  for (std::size_t k = sizeof prefix; k-- > 0;) length = length << 8 | prefix[k];
  if (length > size_ - sizeof prefix || length > kMostHeaderBytes)
    throw BadSafetensors(
        fmt::format("its header should have {} bytes, and the file has {}", length, size_));
  std::string text(length, '\0');
  read_at(sizeof prefix, std::as_writable_bytes(std::span(text)));
  parse(text, sizeof prefix + length);
  check_layout(sizeof prefix + length);
}

void SafetensorsFile::unreadable() const {
  throw StoreError(
      fmt::format("cannot read {}: {}; the file itself may be whole: mend that and try again",
                  path_, std::strerror(errno)));
}

void SafetensorsFile::parse(const std::string& text, std::uint64_t data_begin) {
  try {
    const json header = json::parse(text);
    for (const auto& [name, entry] : header.get_ref<const json::object_t&>()) {
      if (name == kMetadataKey) {
        for (const auto& [key, value] : entry.get_ref<const json::object_t&>())
          metadata_[key] = value.get_ref<const std::string&>();
        continue;
      }
      TensorHeader tensor = parse_tensor(name, entry);
      tensor.begin += data_begin;
      tensor.end += data_begin;
      tensors_.emplace(name, std::move(tensor));
    }
  } catch (const json::exception& error) {
    throw BadSafetensors(fmt::format("its header is not as it should be: {}", error.what()));
  }
}

void SafetensorsFile::check_layout(std::uint64_t data_begin) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, tensor] : tensors_) {
    if (tensor.begin > tensor.end || tensor.end > size_)
      throw BadSafetensors(fmt::format("tensor {} lies outside the file", name));
    if (tensor.type != TensorType::other && bytes_of(tensor) != tensor.end - tensor.begin)
      throw BadSafetensors(fmt::format("tensor {} does not have the size of its shape", name));
    ranges.emplace_back(tensor.begin, tensor.end);
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t at = data_begin;
  for (const auto& [begin, end] : ranges) {
    if (begin != at)
      throw BadSafetensors(fmt::format("a tensor begins at byte {} instead of {}", begin, at));
    at = end;
  }
  if (at != size_)
    throw BadSafetensors(fmt::format("it should have {} bytes and has {}", at, size_));
}

void SafetensorsFile::check_digest(std::string_view sha256) const {
  Sha256 digest;
  std::vector<std::byte> block(1 << 20);
  for (std::uint64_t at = 0; at < size_; at += block.size()) {
    const auto part = std::span(block).first(std::min<std::uint64_t>(block.size(), size_ - at));
    read_at(at, part);
    digest.update(part);
  }
  const std::string has = digest.hex();
  if (has != sha256)
    throw BadSafetensors(fmt::format("its SHA-256 is {}, not {} as recorded", has, sha256));
}

void SafetensorsFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = uninterrupted([&] {
      return ::pread(descriptor_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    });
    if (count < 0) unreadable();
    if (count == 0) throw BadSafetensors(fmt::format("it ends at byte {}", offset));
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace acid
