#include "bench/scratch.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "engine/base/error.hpp"

namespace acid::bench {
namespace {

constexpr int kAttempts = 100;

}  // namespace

Scratch::Scratch() {
  path_ = (std::filesystem::temp_directory_path() / "acid-bench-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr)
    throw Error(fmt::format("cannot make a folder {}; set TMPDIR to where one can be", path_));
}

Scratch::~Scratch() {
  // A process that was just killed may still be making a file.
  std::error_code kept;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::filesystem::remove_all(path_, kept);
    if (!kept) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string Scratch::path(const std::string& name) const {
  return name.empty() ? path_ : path_ + "/" + name;
}

}  // namespace acid::bench
