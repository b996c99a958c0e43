// Archives (engine/base/archive.hpp): any bytes are read or refused, and what was read is equal
// after writing and reading it again.
#include "engine/base/archive.hpp"
#include "tests/fuzz/input.hpp"

namespace acid::fuzz {
namespace {

enum class Colour : std::uint8_t { red, green };

struct Leaf {
  double weight = 0;
  Colour colour = Colour::red;
  std::optional<std::vector<float>> values;
  template <class Archive>
  void persist(Archive& archive) {
    archive(weight, colour, values);
  }
};

struct Tree {
  bool flag = false;
  std::int64_t number = 0;
  std::string name;
  std::deque<std::pair<int, double>> queue;
  std::vector<std::vector<std::uint16_t>> lists;
  std::map<std::string, std::vector<Leaf>> leaves;
  std::map<int, std::map<int, bool>> maps;
  std::vector<bool> bits;
  std::optional<std::optional<Leaf>> perhaps;
  template <class Archive>
  void persist(Archive& archive) {
    archive(flag, number, name, queue, lists, leaves, maps, bits, perhaps);
  }
};

std::vector<std::byte> written(const Tree& tree) {
  ArchiveWriter writer;
  writer(tree);
  return writer.take();
}

}  // namespace
}  // namespace acid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  Tree tree;
  const bool read = accepted([&] {
    acid::ArchiveReader reader(std::as_bytes(std::span(data, size)));
    reader(tree);
  });
  if (!read) return 0;
  const std::vector<std::byte> first = written(tree);
  Tree again;
  acid::ArchiveReader reader(first);
  reader(again);
  ACID_ASSERT(reader.left() == 0, "{} bytes too many", reader.left());
  ACID_ASSERT(written(again) == first, "what was read is not what was written");
  return 0;
}
