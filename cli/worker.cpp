// acid-worker: the engine. Started by acid with a store and a run id; the store is the only channel
// between the two.
#include <fmt/format.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <stop_token>
#include <thread>

#include "cli/build_info.hpp"
#include "cli/worker_environment.hpp"
#include "cli/worker_run.hpp"
#include "engine/models/model.hpp"

namespace acid {
namespace {

/// Turns SIGINT and SIGTERM into a stop request, on a thread of its own; a second signal ends the
/// process at once. Construct before any other thread, so that all inherit the blocked signals.
class SignalWatch {
 public:
  SignalWatch() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, kEnd}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this] { watch(); });
  }
  ~SignalWatch() {
    pthread_kill(thread_.native_handle(), kEnd);
    thread_.join();
  }
  std::stop_token token() const { return stop_.get_token(); }

 private:
  static constexpr int kEnd = SIGUSR2;
  void watch() {
    int signal = 0;
    while (sigwait(&signals_, &signal) == 0 && signal != kEnd)
      if (!stop_.request_stop()) std::_Exit(static_cast<int>(Exit::interrupted));
  }
  sigset_t signals_;
  std::stop_source stop_;
  std::thread thread_;
};

Exit print_environment() {
  nlohmann::json surroundings = environment("");
  try {
    surroundings["model_runtime"] = load_model_runtime().environment();
  } catch (const Error& error) {
    surroundings["model_runtime"] = {{"error", error.what()}};
  }
  std::cout << surroundings.dump(2) << "\n";
  return Exit::ok;
}

int run(int argc, char** argv) {
  CLI::App app("The engine of acid. Use acid run.", "acid-worker");
  std::string store, run_id;
  bool only_environment = false;
  app.add_option("--store", store, "folder of the store");
  app.add_option("--run", run_id, "id of the run to execute");
  app.add_flag("--environment", only_environment, "print what this machine has, as JSON");
  app.set_version_flag("--version", build_info().version);
  try {
    app.parse(argc, argv);
    if (!only_environment && (store.empty() || run_id.empty()))
      throw CLI::RequiredError("--store and --run");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Exit::usage);
  }
  if (only_environment) return static_cast<int>(print_environment());
  // If acid dies, nobody supervises this process any more: it stops like at a signal.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  SignalWatch signals;
  std::string command_line;
  for (int k = 0; k < argc; ++k) command_line += (k > 0 ? " " : "") + std::string(argv[k]);
  return static_cast<int>(execute_run(store, run_id, command_line, signals.token()));
}

}  // namespace
}  // namespace acid

int main(int argc, char** argv) {
  try {
    return acid::run(argc, argv);
  } catch (const acid::Error& error) {
    std::cerr << "acid-worker: error: " << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "acid-worker: this is a bug in acid: " << error.what() << "\n";
    return static_cast<int>(acid::Exit::run_failed);
  }
}
