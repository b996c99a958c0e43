// Safetensors files as data sets: tensors of any type, and other tensors beside them.
#include "tests/fuzz/images.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  static MemoryFile file;
  file.set(std::span(data, size));
  const acid::DatasetEntry& entry = *acid::find_dataset("safetensors");
  inspect_and_load(entry, acid::with_fallbacks(entry.fields, {{"path", file.path()}}));
  return 0;
}
