#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/catch.hpp"

namespace acid::test {

struct ShellEnd {
  int code = -1;       // −1 when a signal ended it
  std::string output;  // its standard output
};

inline ShellEnd run_shell(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  ShellEnd end;
  std::array<char, 4096> part{};
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    end.output.append(part.data(), got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  return end;
}

}  // namespace acid::test
