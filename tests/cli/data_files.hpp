#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "tests/data/arrays.hpp"
#include "tests/data/images.hpp"

namespace acid::testing {

/// The recipe's text that names a data set's files; images of two rows and three columns.
inline std::string files_of(const std::string& kind) {
  static const ScratchFolder folder;
  const std::vector<std::uint8_t> pixels{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, labels{0, 1};
  std::vector<NamedTensor> tensors;
  for (const std::string part : {"train", "test"}) {
    folder.write(part + "_inputs.npy", npy("|u1", {2, 1, 2, 3}, pixels));
    folder.write(part + "_labels.npy", npy("|u1", {2}, labels));
    tensors.push_back(
        {part + "_inputs", TensorType::u8, {2, 1, 2, 3}, {pixels.begin(), pixels.end()}});
    tensors.push_back({part + "_labels", TensorType::u8, {2}, {labels.begin(), labels.end()}});
  }
  folder.write("tensors", safetensors(tensors));
  for (const std::string name : {"train/a", "train/b", "test/a", "test/b"}) {
    std::filesystem::create_directories(folder.path(name));
    folder.write(name + "/x.png", png(2, 3, pattern(2, 3, 3)));
  }
  const std::string tokens(40000, 'a');
  folder.write("t.safetensors", safetensors({{"tokens", TensorType::u8, {40000}, tokens}}));
  if (kind == "text") return ",file=\"" SOURCE_ROOT "/LICENSE\"";
  if (kind == "tokens")
    return fmt::format(",vocabulary=100,file=\"{}\"", folder.path("t.safetensors"));
  if (kind == "npy" || kind == "image-folder") return fmt::format(",root=\"{}\"", folder.path());
  return kind == "safetensors" ? fmt::format(",path=\"{}\"", folder.path("tensors")) : "";
}

}  // namespace acid::testing
