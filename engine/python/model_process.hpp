#pragma once

#include <sys/types.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"
#include "engine/python/model_templates.hpp"
#include "engine/python/shared_memory.hpp"

namespace acid {

/// A recipe's keys for a process, the same for a model and a data set.
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
          .help = "the Python that runs it, by name or path; not part of the run's identity",
          .placement = true},
    Field{.name = "timeout_seconds",
          .type = FieldType::number,
          .fallback = "600.0",
          .help = "the longest time that one gradient, or the start, may take",
          .minimum = 0,
          .minimum_excluded = true,
          .placement = true},
};

/// An error in the user's file that may be due to the values of one batch alone.
class ModelValuesError : public Error {
  using Error::Error;
};

/// A process that runs acid_model.py with a user's file. It is asked over a socket, in the protocol
/// of docs/GRADIENT_PROCESS.md, and answers with arrays in shared memory. It and all processes that
/// it started end when this object ends, or when this process ends, for any reason. One thread
/// at a time.
class ModelProcess {
 public:
  /// Has a template (ModelTemplates) fork the process, or starts it, and does not wait. `options`
  /// have the fields above; libraries that it loads may use `threads` threads. With an `address` it
  /// is started to become the template there, and its output is kept for its forks. Throws Error
  /// when the interpreter cannot be started.
  ModelProcess(const nlohmann::json& options, const SharedMemory& memory, int threads,
               std::string address = {});
  ~ModelProcess();
  ModelProcess(const ModelProcess&) = delete;
  ModelProcess& operator=(const ModelProcess&) = delete;

  /// Sends a request and waits for the answer. Throws Error: what the user's code raised, with file
  /// and line; that it took too long, with the line where it was; or that the process died, with
  /// Exit::lost when another process may succeed: this one has answered before, or was killed.
  nlohmann::json ask(const nlohmann::json& request);
  /// The two halves of ask().
  void send(const nlohmann::json& request);
  nlohmann::json receive();
  /// Whether receive() would not wait.
  bool has_message() const;

  /// Reads from an answer what docs/GRADIENT_PROCESS.md promises; when it is not there, ends the
  /// process and throws Error.
  template <class Read>
  auto understand(Read read) {
    try {
      return read();
    } catch (const nlohmann::json::exception& error) {
      fail_answer(error.what());
    }
  }

  const std::string& file() const { return file_; }
  /// Whether an error has ended the process.
  bool has_ended() const { return pid_ < 0; }

 private:
  void start(const nlohmann::json& options);
  void spawn();
  void learn_of_fork();
  void read_exactly(char* to, std::size_t bytes);
  void wait_for(short events);
  [[noreturn]] void fail_late();
  [[noreturn]] void fail_dead();
  [[noreturn]] void fail_answer(const std::string& how);
  std::string was_at() const;
  std::optional<int> status_within(double seconds);
  int end(double patience_seconds);

  const std::string file_, interpreter_;
  const double timeout_seconds_;
  const SharedMemory& memory_;
  const int threads_;
  const std::string address_;  // of a template
  Descriptor socket_, lifeline_, words_, has_ended_;
  Descriptor far_socket_, far_lifeline_;  // the process's, until it has them
  ForkRequest fork_;                      // of a template; none: the process is a child of ours
  pid_t pid_ = -1;                        // 0: a template has not yet answered; -1: there is none
  double deadline_ = 0;                   // of the answer
  bool has_answered_ = false;
  nlohmann::json asked_;  // the request that has no answer yet
};

/// The path of acid_model.py, beside the running executable.
std::string model_program();

/// The first request: version, memory, seed and the file and options of a process without data.
nlohmann::json start_request(const nlohmann::json& options, const SharedMemory& memory,
                             std::uint64_t seed, int threads);

/// A process's description of a data set's file (train, test, files): the process is started for it
/// and ended.
nlohmann::json describe_dataset(const nlohmann::json& options);

}  // namespace acid
