#pragma once

#include <span>

namespace acid::test {

/// A recipe with exactly one mistake. The text to be underlined stands between « and », which are
/// removed before compiling; without them the error has no place in the file. Missing sections are
/// completed. `message` is part of the error's.
struct Broken {
  const char* name;
  const char* recipe;
  const char* message;
};
std::span<const Broken> broken_recipes();

}  // namespace acid::test
