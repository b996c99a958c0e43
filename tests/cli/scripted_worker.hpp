#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/waiting.hpp"

namespace acid::test {

/// The smallest recipe: one run.
inline constexpr const char* kOneRun = R"(
name = "one"
seeds = [1]
task.dataset = { kind = "quadratic", dimension = 8, noise = 0.1 }
optimizer.learning_rate = 0.05
workers.count = 2
budget.gradients = 100
algorithms = ["ad-psgd"]
)";

/// A folder with the small recipes and a shell script that plays the worker. In the script $ACID
/// and $REAL are the real programs, $ALONE are the arguments for one run without another after it,
/// and `n` counts its starts, including this one; each start writes a line with its arguments to
/// the file starts.
struct ScriptedWorker : SmallStudy {
  explicit ScriptedWorker(const std::string& script) {
    write("one.toml", kOneRun);
    const std::string worker =
        write_program("worker", "#!/bin/sh\nACID=" BINARY_ROOT "/acid\nREAL=" BINARY_ROOT
                                "/acid-worker\necho \"$@\" >> starts\nn=$(wc -l < starts)\n"
                                "ALONE=\"$*\"; ALONE=\"${ALONE% --more}\"\n" +
                                    script);
    environment = {"ACID_WORKER=" + worker};
  }
  Result one(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"run", "one.toml"});
    return call(options);
  }
  /// The arguments of each start.
  std::vector<std::string> starts() const {
    std::istringstream log(read("starts"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(log, line);) lines.push_back(line);
    return lines;
  }
};

/// How often the words are in the text.
inline std::size_t count_of(const std::string& words, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    ++count;
  return count;
}

/// Waits until a file exists.
inline void wait_for(const Folder& folder, const std::string& file) {
  REQUIRE(comes_true([&] { return folder.has(file); }));
}

}  // namespace acid::test
