#pragma once

#include <algorithm>
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
[task]
dataset = { kind = "quadratic", dimension = 8, noise = 0.1 }
[optimizer]
kind = "sgd"
learning_rate = 0.05
[workers]
count = 2
[topology]
kind = "ring"
[budget]
gradients = 100
[[algorithms]]
kind = "ad-psgd"
communication_rate = 1.0
)";

/// A folder with the small recipes and a shell script that plays the worker. In the script $ACID
/// and $REAL are the real programs, and `n` counts its starts, including this one; each start
/// writes a line with its arguments to the file starts.
struct ScriptedWorker : Folder {
  explicit ScriptedWorker(const std::string& script) {
    write("small.toml", kSmallRecipe);
    write("one.toml", kOneRun);
    worker = "ACID_WORKER=" + write_program("worker",
                                            "#!/bin/sh\n"
                                            "ACID=" BINARY_ROOT
                                            "/acid\n"
                                            "REAL=" BINARY_ROOT
                                            "/acid-worker\n"
                                            "echo \"$@\" >> starts\n"
                                            "n=$(wc -l < starts)\n" +
                                                script);
  }
  Result call(const std::vector<std::string>& arguments) const {
    return acid(*this, arguments, {worker});
  }
  Result run(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"run", "small.toml"});
    return call(options);
  }
  /// The arguments of each start.
  std::vector<std::string> starts() const {
    std::vector<std::string> lines;
    const std::string log = read("starts");
    for (std::size_t at = 0; at < log.size();) {
      const std::size_t end = log.find('\n', at);
      lines.push_back(log.substr(at, end - at));
      at = end + 1;
    }
    return lines;
  }
  std::string worker;
};

/// Waits until a file exists.
inline void wait_for(const Folder& folder, const std::string& file) {
  REQUIRE(comes_true([&] { return folder.has(file); }));
}

}  // namespace acid::test
