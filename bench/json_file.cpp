#include "bench/json_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "engine/base/error.hpp"

namespace acid::bench {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error(fmt::format("cannot write {}: {}; name another file after --json", path,
                          std::strerror(error)));
}

}  // namespace

JsonFile::JsonFile(const std::string& path) {
  if (path.empty() || path == "-") return;
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(path, failed);
  path_ = failed ? path : real.string();
  new_ = path_;
  if (fs::is_directory(path_, failed)) fail(path, EISDIR);
  if (fs::exists(path_, failed) && !fs::is_regular_file(path_, failed)) return;
  new_ += ".tmp";
  if (!std::ofstream(new_)) fail(path, errno);
  fs::remove(new_, failed);
}

void JsonFile::write(const nlohmann::json& content) const {
  if (path_.empty()) return;
  std::error_code failed;
  std::ofstream file(new_);
  file << content.dump(2) << "\n";
  file.close();
  if (file && new_ != path_) fs::rename(new_, path_, failed);
  if (file && !failed) return;
  const int error = failed ? failed.value() : errno;
  if (new_ != path_) fs::remove(new_, failed);
  fail(path_, error);
}

}  // namespace acid::bench
