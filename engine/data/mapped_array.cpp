#include "engine/data/mapped_array.hpp"

#include <fmt/ranges.h>
#include <sys/mman.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "engine/base/regular_file.hpp"
#include "engine/data/byte_file.hpp"

namespace acid {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are taken as they lie in a file");

constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyType {
  std::string_view descr;
  TensorType type;
};
// For types of one byte, NumPy writes '|' as the byte order.
constexpr std::array<NpyType, 12> kNpyTypes{{{"<f2", TensorType::f16},
                                             {"<f4", TensorType::f32},
                                             {"<f8", TensorType::f64},
                                             {"|b1", TensorType::u8},
                                             {"|u1", TensorType::u8},
                                             {"|i1", TensorType::i8},
                                             {"<i2", TensorType::i16},
                                             {"<u2", TensorType::u16},
                                             {"<i4", TensorType::i32},
                                             {"<u4", TensorType::u32},
                                             {"<i8", TensorType::i64},
                                             {"<u8", TensorType::u64}}};

/// The header's text: a Python dictionary with 'descr', 'fortran_order' and 'shape'.
class NpyDictionary {
 public:
  NpyDictionary(const std::string& path, std::string_view text) : path_(path), rest_(text) {}

  TensorHeader read() {
    expect('{');
    while (!next_is('}')) {
      read_entry(quoted());
      if (!next_is(',')) {
        expect('}');
        break;
      }
    }
    if (!type_ || !fortran_ || !shape_)
      fail("a header with 'descr', 'fortran_order' and 'shape', and one of them is missing");
    if (*fortran_ && shape_->size() > 1)
      throw Error(
          fmt::format("{}: expected an array in C order, found Fortran order; save "
                      "numpy.ascontiguousarray(array) instead",
                      path_));
    return {*type_, *shape_, 0, 0, boolean_};
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(
        fmt::format("{}: expected {}; save the array again with numpy.save", path_, problem));
  }
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(" \n")));
  }
  bool next_is(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!next_is(c)) fail(fmt::format("'{}' before \"{:.20}\" in the header", c, rest_));
  }
  bool next_is(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string_view quoted() {
    const char quote = next_is('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = rest_.find(quote);
    if (end == rest_.npos) fail("an end of the text that begins in the header");
    const std::string_view inside = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return inside;
  }
  void read_entry(std::string_view key) {
    expect(':');
    if (key == "descr" && !type_)
      type_ = read_type();
    else if (key == "fortran_order" && !fortran_)
      fortran_ = read_boolean();
    else if (key == "shape" && !shape_)
      shape_ = read_shape();
    else
      fail(
          fmt::format("'descr', 'fortran_order' and 'shape' in the header, once each, and not "
                      "'{:.20}'",
                      key));
  }
  TensorType read_type() {
    skip_blanks();
    const std::string_view descr = rest_.starts_with('[') ? "a structure" : quoted();
    boolean_ = descr == "|b1";
    for (const NpyType& known : kNpyTypes)
      if (known.descr == descr) return known.type;
    throw Error(fmt::format(
        "{}: expected booleans, integers, float16, float32 or float64, found '{:.20}'{}", path_,
        descr, advice_on(descr)));
  }
  static std::string_view advice_on(std::string_view descr) {
    if (descr == "|O")
      return " (Python objects); save numpy.array(list(array), dtype=\"float32\") where all its "
             "elements are arrays of one shape";
    if (descr.find('U') == 1 || descr.find('S') == 1)
      return " (texts); of the names of classes, save numpy.unique(array, return_inverse=True)[1], "
             "of training and tests together";
    if (descr.find('c') == 1)
      return " (complex numbers); save numpy.stack([array.real, array.imag], axis=1)";
    if (descr.starts_with('>'))
      return " (big-endian); save array.astype(array.dtype.newbyteorder(\"<\"))";
    return "; save array.astype(\"float32\") or array.astype(\"int64\") instead";
  }
  bool read_boolean() {
    if (next_is("True")) return true;
    if (!next_is("False")) fail("True or False for 'fortran_order'");
    return false;
  }
  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!next_is(')')) {
      skip_blanks();
      std::int64_t extent = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) fail("whole numbers for 'shape'");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      shape.push_back(extent);
      if (!next_is(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  const std::string& path_;
  std::string_view rest_;
  std::optional<TensorType> type_;
  bool boolean_ = false;
  std::optional<bool> fortran_;
  std::optional<std::vector<std::int64_t>> shape_;
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t k = bytes.size(); k-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[k]);
  return value;
}

}  // namespace

TensorHeader npy_header(const std::string& path, std::string_view first_bytes) {
  constexpr const char* kSaveAgain = "save the array again with numpy.save";
  constexpr std::size_t kVersionEnd = 8;
  if (!first_bytes.starts_with(kNpyMagic)) {
    const Packing* packing = packing_of(first_bytes);
    const bool zip = packing != nullptr && packing->name == "zip";
    throw Error(fmt::format("{}: expected a .npy file, which begins with \\x93NUMPY, found {}; {}",
                            path,
                            zip                  ? "a zip archive such as .npz"
                            : packing != nullptr ? fmt::format("{} content", packing->name)
                                                 : "something else",
                            zip                  ? "save each of its arrays with numpy.save"
                            : packing != nullptr ? packing->remedy(path)
                                                 : kSaveAgain));
  }
  const auto ends = [&] {
    return Error(fmt::format("{}: expected a header, found the end of the file at byte {}; {}",
                             path, first_bytes.size(), kSaveAgain));
  };
  if (first_bytes.size() < kVersionEnd) throw ends();
  const int version = static_cast<unsigned char>(first_bytes[6]);
  if (version < 1 || version > 3)
    throw Error(fmt::format("{}: expected version 1, 2 or 3 of the format, found {}; {}", path,
                            version, kSaveAgain));
  const std::size_t begin = kVersionEnd + (version == 1 ? 2 : 4);
  if (first_bytes.size() < begin) throw ends();
  const std::uint64_t length = little_endian(first_bytes.substr(kVersionEnd, begin - kVersionEnd));
  if (length > kMostNpyHeaderBytes - begin)
    throw Error(fmt::format("{}: expected a header of at most {} bytes, found one of {}; {}", path,
                            kMostNpyHeaderBytes - begin, length, kSaveAgain));
  if (first_bytes.size() < begin + length) throw ends();
  TensorHeader header = NpyDictionary(path, first_bytes.substr(begin, length)).read();
  const std::optional<std::uint64_t> bytes = bytes_of(header);
  if (!bytes || *bytes > INT64_MAX - kMostNpyHeaderBytes)
    throw Error(fmt::format("{}: expected an array that fits into a file, found the shape ({}); {}",
                            path, fmt::join(header.shape, ", "), kSaveAgain));
  header.begin = begin + length;
  header.end = header.begin + *bytes;
  return header;
}

MappedArray MappedArray::npy(const std::string& path) {
  const RegularFile file(path);
  std::string first(std::min<std::size_t>(kMostNpyHeaderBytes, file.bytes()), '\0');
  first.resize(file.read(std::as_writable_bytes(std::span(first))));
  TensorHeader header = npy_header(path, first);
  if (static_cast<std::uint64_t>(file.bytes()) != header.end)
    throw Error(
        fmt::format("{}: expected {} bytes, for the shape ({}), found {}; save the array "
                    "again with numpy.save, or copy the file again",
                    path, header.end, fmt::join(header.shape, ", "), file.bytes()));
  return {path, path, std::move(header)};
}

MappedArray MappedArray::safetensors(const std::string& path, const std::string& tensor) {
  try {
    const SafetensorsFile file(path);
    const auto found = file.tensors().find(tensor);
    if (found != file.tensors().end())
      return {path, fmt::format("{}, tensor '{}'", path, tensor), found->second};
    std::vector<std::string_view> names;
    for (const auto& [name, header] : file.tensors()) names.push_back(name);
    throw BadSafetensors(
        fmt::format("it has no tensor '{}', but {}", tensor,
                    names.empty() ? "none at all" : fmt::format("'{}'", fmt::join(names, "', '"))));
  } catch (const BadSafetensors& error) {
    if (const Packing* packing = packing_of_file(path))
      throw Error(fmt::format("cannot read the safetensors file {}: it has {} content; {}", path,
                              packing->name, packing->remedy(path)));
    throw Error(
        fmt::format("cannot read the safetensors file {}: {}; save it again with the "
                    "library safetensors, or name another one",
                    path, error.what()));
  } catch (const StoreError& error) {  // the file is not a store, so StoreError would be wrong
    throw Error(error.what());
  }
}

MappedArray::MappedArray(const std::string& path, std::string name, TensorHeader header)
    : name_(std::move(name)), header_(std::move(header)) {
  if (header_.type == TensorType::other)
    fail(fmt::format("it is of type {}, and acid reads booleans, integers, F16, BF16, F32 and F64",
                     type_name()),
         "save it as one of these, such as tensor.to(torch.float32)");
  if (header_.begin % element_bytes(header_.type) != 0)
    fail(fmt::format("the array begins at byte {}, which is no multiple of its elements' {} bytes",
                     header_.begin, element_bytes(header_.type)),
         "save it again with the newest version of the library");
  const RegularFile file(path);
  const auto bytes = static_cast<std::size_t>(file.bytes());
  if (bytes < header_.end) fail("the file has become shorter", "leave it as it is during a run");
  void* memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (memory == MAP_FAILED)
    fail(fmt::format("it cannot be mapped into memory: {}", std::strerror(errno)),
         "copy it to a local disk, or allow more address space with ulimit -v");
  memory_ = {static_cast<const std::byte*>(memory),
             [memory, bytes](const std::byte*) { munmap(memory, bytes); }};
}

std::int64_t MappedArray::size() const {
  return static_cast<std::int64_t>((header_.end - header_.begin) / element_bytes(header_.type));
}

void MappedArray::fail(std::string_view problem, std::string_view remedy) const {
  throw Error(fmt::format("{}: {}; {}", name_, problem, remedy));
}

}  // namespace acid
