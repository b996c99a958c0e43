#include "engine/run/cut.hpp"

#include "engine/base/error.hpp"

namespace acid {

void check_layout(const CheckpointFile& file, std::string_view layout, std::string_view remedy) {
  const auto found = file.metadata().find(kLayoutKey);
  const std::string has = found == file.metadata().end() ? "none" : found->second;
  if (has != layout)
    throw UsageError(
        fmt::format("the checkpoint {} holds the state '{}', not '{}': it was written by another "
                    "version of acid; {}",
                    file.path(), has, layout, remedy));
}

}  // namespace acid
