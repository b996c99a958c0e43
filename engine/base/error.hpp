#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace acid {

/// Exit codes of both programs, a contract with scripts.
enum class Exit : int {
  ok = 0,
  run_failed = 1,
  usage = 2,
  store = 3,
  mismatch = 4,
  claim_fails = 5,  // or cannot be told
  lost = 75,  // acid-worker to acid: a process of the run was lost; another attempt may succeed
  interrupted = 130,
};

/// An error outside the program: in a recipe, a file, a store, a peer. The message says what
/// happened, where, and what to do about it; it is printed unchanged. Bugs of acid itself are
/// reported by ACID_ASSERT.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Exit code = Exit::run_failed)
      : std::runtime_error(message), code_(code) {}
  Exit code() const { return code_; }

 private:
  Exit code_;
};

/// Bad usage or a bad recipe: exit code 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(message, Exit::usage) {}
};

/// The store cannot be read or written: exit code 3.
class StoreError : public Error {
 public:
  explicit StoreError(const std::string& message) : Error(message, Exit::store) {}
};

/// Thrown by ACID_ASSERT; never caught except by tests and by main.
class AssertionError : public std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace acid

/// Checks an invariant of acid itself in every build; the format arguments show the values at
/// fault.
#define ACID_ASSERT(condition, ...)                                                       \
  do {                                                                                    \
    if (!(condition))                                                                     \
      throw ::acid::AssertionError(                                                       \
          fmt::format("{}:{}: assertion '{}' failed: ", __FILE__, __LINE__, #condition) + \
          fmt::format(__VA_ARGS__));                                                      \
  } while (false)
