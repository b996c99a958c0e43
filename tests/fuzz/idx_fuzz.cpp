// IDX files, plain or compressed: four sections of the input are the four files of MNIST.
#include <array>

#include "tests/fuzz/images.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  static std::array<MemoryFile, 4> files;
  static const Folder folder;
  [[maybe_unused]] static const bool linked = [] {
    folder.link("train-images-idx3-ubyte", files[0]);
    folder.link("train-labels-idx1-ubyte", files[1]);
    folder.link("t10k-images-idx3-ubyte", files[2]);
    folder.link("t10k-labels-idx1-ubyte", files[3]);
    return true;
  }();
  Input input(data, size);
  for (MemoryFile& file : files) file.set(input.section());
  inspect_and_load(*acid::find_dataset("mnist"), {{"root", folder.path()}});
  return 0;
}
