#include "bench/scratch.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "engine/base/error.hpp"

namespace acid::bench {

Scratch::Scratch() {
  path_ = (std::filesystem::temp_directory_path() / "acid-bench-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr)
    throw Error(fmt::format("cannot make a folder {}; set TMPDIR to where one can be", path_));
}

Scratch::~Scratch() {
  std::error_code kept;
  std::filesystem::remove_all(path_, kept);
}

std::string Scratch::path(const std::string& name) const {
  return name.empty() ? path_ : path_ + "/" + name;
}

}  // namespace acid::bench
