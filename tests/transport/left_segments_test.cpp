#include "engine/transport/left_segments.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/catch.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

TEST_CASE("shared memory of killed Open MPI processes is removed, unless another process has it") {
  std::string folder = fs::temp_directory_path() / "acid-segments-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string whose = std::string(host.data()) + "." + std::to_string(geteuid());
  const auto make = [&](const std::string& name, double seconds_ago) {
    const std::string path = folder + "/" + name;
    std::ofstream(path) << std::string(4096, 'x');
    const fs::file_time_type now = fs::file_time_type::clock::now();
    fs::last_write_time(path, now - std::chrono::milliseconds(int(seconds_ago * 1000)));
    return path;
  };
  const std::string left = make("vader_segment." + whose + ".5f2a0001.0", 60);
  const std::string left_by_5 = make("sm_segment." + whose + ".5f2a0001.1", 60);
  const std::string mapped = make("vader_segment." + whose + ".77770001.0", 60);
  make("vader_segment." + whose + ".77770001.1", 0);  // about to be mapped
  make("vader_segment.elsewhere." + std::to_string(geteuid()) + ".1.0", 60);
  make("vader_segment." + std::string(host.data()) + ".4242.1.0", 60);
  make("torch_1234", 60);
  const int file = open(mapped.c_str(), O_RDWR);
  void* memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  REQUIRE(memory != MAP_FAILED);
  close(file);

  CHECK(remove_left_segments(folder).size() == 2);
  CHECK_FALSE(fs::exists(left));
  CHECK_FALSE(fs::exists(left_by_5));
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 5);
  munmap(memory, 4096);
  CHECK(remove_left_segments(folder) == std::vector<std::string>{mapped});
  CHECK(remove_left_segments(folder + "/nowhere").empty());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace acid
