#pragma once

#include <fmt/ranges.h>

#include <cstring>

#include "engine/checkpoint/safetensors_file.hpp"
#include "tests/data/scratch.hpp"

namespace acid::testing {

/// The beginning of a .npy file up to its data, with this header.
inline std::string npy_text(std::string header, int version = 1) {
  const std::size_t prefix = version == 1 ? 10 : 12;
  header.resize((prefix + header.size() + 63) / 64 * 64 - prefix, ' ');
  std::string bytes = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (std::size_t k = 0; k < prefix - 8; ++k) bytes += static_cast<char>(header.size() >> (8 * k));
  return bytes + header;
}

/// The output of numpy.save.
template <class Number>
std::string npy(const std::string& descr, const std::vector<std::int64_t>& shape,
                const std::vector<Number>& numbers) {
  const std::string bytes(reinterpret_cast<const char*>(numbers.data()),
                          numbers.size() * sizeof(Number));
  return npy_text(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                              fmt::join(shape, ", "), shape.size() == 1 ? "," : "")) +
         bytes;
}

struct NamedTensor {
  std::string name;
  TensorType type;
  std::vector<std::int64_t> shape;
  std::string bytes;
};
inline std::string safetensors(const std::vector<NamedTensor>& tensors) {
  std::vector<std::pair<std::string, TensorHeader>> headers;
  std::string data;
  for (const NamedTensor& tensor : tensors) {
    headers.push_back({tensor.name, {tensor.type, tensor.shape, 0, 0}});
    data += tensor.bytes;
  }
  return safetensors_header({}, headers) + data;
}

}  // namespace acid::testing
