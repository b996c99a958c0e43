// .npy files: four sections of the input are the arrays of a data set.
#include <array>

#include "tests/fuzz/images.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  static std::array<MemoryFile, 4> files;
  Input input(data, size);
  for (MemoryFile& file : files) file.set(input.section());
  const acid::DatasetEntry& entry = *acid::find_dataset("npy");
  nlohmann::json options = acid::with_fallbacks(entry.fields, nlohmann::json::object());
  const char* keys[] = {"train_inputs", "train_labels", "test_inputs", "test_labels"};
  for (std::size_t k = 0; k < files.size(); ++k) options[keys[k]] = files[k].path();
  inspect_and_load(entry, options);
  return 0;
}
