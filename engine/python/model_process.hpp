#pragma once

#include <sys/types.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"
#include "engine/python/shared_memory.hpp"

namespace acid {

/// What a recipe says of a process, whether it has a model or a data set.
inline constexpr std::array kProcessFields = {
    Field{.name = "file",
          .type = FieldType::file,
          .fallback = "",
          .help = "the Python file; docs/GRADIENT_PROCESS.md says what it defines"},
    Field{.name = "options",
          .type = FieldType::table,
          .fallback = "{}",
          .help = "arguments of its functions, such as { width = 64 } for model(width)"},
    Field{.name = "interpreter",
          .type = FieldType::text,
          .fallback = "\"python3\"",
          .help = "the Python that runs it, by name or path; another one is no other run",
          .placement = true},
    Field{.name = "timeout_seconds",
          .type = FieldType::number,
          .fallback = "600.0",
          .help = "the longest time that one gradient, or the start, may take",
          .minimum = 0,
          .minimum_excluded = true,
          .placement = true},
};

/// What a person's file raises that may come of the values in a batch alone.
class ModelValuesError : public Error {
  using Error::Error;
};

/// A process of acid_model.py with a person's file: what it is asked over a socket, in the words of
/// docs/GRADIENT_PROCESS.md, it answers with arrays in shared memory. It ends when this object
/// does, or when this process ends, however it does, and with it all that it started. One thread at
/// a time.
class ModelProcess {
 public:
  /// Starts it, and does not wait. `options` have the fields above; the libraries that it loads are
  /// held to that many threads. Throws Error when the interpreter cannot be started.
  ModelProcess(const nlohmann::json& options, const SharedMemory& memory, int threads);
  ~ModelProcess();
  ModelProcess(const ModelProcess&) = delete;
  ModelProcess& operator=(const ModelProcess&) = delete;

  /// Asks, and waits for the answer. Throws Error: what the person's code raised, with file and
  /// line; that it took too long, with the line that it was at; or that the process died, with
  /// Exit::lost where another may do better: it has answered before, or something killed it.
  nlohmann::json ask(const nlohmann::json& request);
  /// The two halves of it.
  void send(const nlohmann::json& request);
  nlohmann::json receive();

  /// Reads of an answer what docs/GRADIENT_PROCESS.md says is there: Error where it is not.
  template <class Read>
  auto understand(Read read) const {
    try {
      return read();
    } catch (const nlohmann::json::exception& error) {
      fail_answer(error.what());
    }
  }

  const std::string& file() const { return file_; }
  /// Whether an error has ended it.
  bool has_ended() const { return pid_ < 0; }

 private:
  void start(int threads);
  void read_exactly(char* to, std::size_t bytes);
  void wait_for(short events);
  [[noreturn]] void fail_late();
  [[noreturn]] void fail_dead();
  [[noreturn]] void fail_answer(const std::string& how) const;
  std::string was_at() const;
  std::optional<int> status_within(double seconds);
  int end(double patience_seconds);

  const std::string file_, interpreter_;
  const double timeout_seconds_;
  const SharedMemory& memory_;
  Descriptor socket_, lifeline_, words_, has_ended_;
  pid_t pid_ = -1;
  double deadline_ = 0;  // of the answer
  bool has_answered_ = false;
  nlohmann::json asked_;  // the request that has no answer yet
};

/// acid_model.py, beside the running executable.
std::string model_program();

/// The first request: version, memory, seed and the file and options of a process without data.
nlohmann::json start_request(const nlohmann::json& options, const SharedMemory& memory,
                             std::uint64_t seed, int threads);

/// What a process tells of a data set's file (train, test, files): it is started for that and
/// ended.
nlohmann::json describe_dataset(const nlohmann::json& options);

}  // namespace acid
