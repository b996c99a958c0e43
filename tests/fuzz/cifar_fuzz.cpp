// CIFAR's binary files: the input is the first training file, or the test file.
#include <array>

#include "tests/fuzz/images.hpp"

namespace acid::fuzz {
namespace {

constexpr std::size_t kPixels = 3 * 32 * 32;

// A folder in which both data sets have one valid record per file, except for those two files.
struct Files {
  Folder folder;
  MemoryFile train, test, other;

  Files() {
    for (const char* name :
         {"data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"})
      folder.link(name, other);
    for (const char* name : {"data_batch_1.bin", "train.bin"}) folder.link(name, train);
    for (const char* name : {"test_batch.bin", "test.bin"}) folder.link(name, test);
    other.set(std::vector<std::uint8_t>(1 + kPixels));
  }
};

}  // namespace
}  // namespace acid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  static Files files;
  Input input(data, size);
  const std::uint8_t choice = input.number<std::uint8_t>();
  const bool fine = choice % 2 != 0;  // CIFAR-100 has a second label
  const std::vector<std::uint8_t> valid((fine ? 2 : 1) + kPixels);
  const bool is_train = choice / 2 % 2 == 0;
  (is_train ? files.train : files.test).set(input.rest());
  (is_train ? files.test : files.train).set(valid);
  inspect_and_load(*acid::find_dataset(fine ? "cifar100" : "cifar10"),
                   {{"root", files.folder.path()}});
  return 0;
}
