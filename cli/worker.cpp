// acid-worker: the engine. Started by acid with a store and a run id; the store is the only channel
// between the two.
#include <fmt/format.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <new>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>

#include "cli/build_info.hpp"
#include "cli/worker_environment.hpp"
#include "cli/worker_run.hpp"
#include "cli/worker_verify.hpp"
#include "engine/models/model.hpp"

namespace acid {
namespace {

/// Turns SIGINT and SIGTERM into a stop request, on a thread of its own; a SIGINT after that ends
/// the process at once. A second SIGTERM does not: schedulers send one to every process, and acid
/// passes its own on. Construct before any other thread, so that all inherit the blocked signals.
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
  void request_stop() { stop_.request_stop(); }

 private:
  static constexpr int kEnd = SIGUSR2;
  void watch() {
    int signal = 0;
    while (sigwait(&signals_, &signal) == 0 && signal != kEnd)
      if (!stop_.request_stop() && signal == SIGINT)
        std::_Exit(static_cast<int>(Exit::interrupted));
  }
  sigset_t signals_;
  std::stop_source stop_;
  std::thread thread_;
};

/// Whether the acid that started this process has died. Another process may stand between the two,
/// such as a debugger or a script, so that it need not be our parent.
bool supervisor_is_gone() {
  const char* supervisor = std::getenv("ACID_PARENT_PID");
  if (supervisor == nullptr || std::to_string(getppid()) == supervisor) return false;
  std::ifstream file(std::string("/proc/") + supervisor + "/stat");
  std::string line;
  if (!std::getline(file, line)) return true;
  const std::size_t name_end = line.rfind(") ");  // The name itself may hold anything.
  return name_end != std::string::npos && line.find_first_of("ZX", name_end) == name_end + 2;
}

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
  ExecuteOptions execute;
  VerifyOptions verify;
  bool only_environment = false, only_verify = false;
  app.add_option("--store", execute.store_folder, "folder of the store");
  app.add_option("--run", execute.run_id, "id of the run to execute");
  app.add_flag("--fresh", execute.fresh, "start again instead of going on from a checkpoint");
  app.add_flag("--allow-changed", execute.allow_changed,
               "go on from a checkpoint though the program or its data changed since");
  app.add_flag("--verify", only_verify, "execute it again or replay it, and compare every digest");
  app.add_option("--from", verify.from, "verify from this checkpoint on");
  app.add_flag("--json", verify.json, "print the verdict as JSON");
  app.add_flag("--environment", only_environment, "print what this machine has, as JSON");
  app.set_version_flag("--version", build_info().version);
  try {
    app.parse(argc, argv);
    if (!only_environment && (execute.store_folder.empty() || execute.run_id.empty()))
      throw CLI::RequiredError("--store and --run");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Exit::usage);
  }
  if (only_environment) return static_cast<int>(print_environment());
  // If acid dies, nobody supervises this process any more: it stops like at a signal, and whatever
  // it still has to say has no reader.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  std::signal(SIGPIPE, SIG_IGN);
  SignalWatch signals;
  if (supervisor_is_gone()) signals.request_stop();  // It was faster than prctl.
  for (int k = 0; k < argc; ++k)
    execute.command_line += (k > 0 ? " " : "") + std::string(argv[k]);
  if (!only_verify) return static_cast<int>(execute_run(execute, signals.token()));
  verify.store_folder = execute.store_folder;
  verify.run_id = execute.run_id;
  verify.command_line = execute.command_line;
  return static_cast<int>(verify_run(verify, signals.token()));
}

}  // namespace
}  // namespace acid

int main(int argc, char** argv) {
  try {
    return acid::run(argc, argv);
  } catch (const acid::Error& error) {
    std::cerr << "acid-worker: error: " << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const std::system_error& error) {
    std::cerr << "acid-worker: error: the system refuses what the run needs: " << error.what()
              << "; give it more memory or threads, or use fewer workers, then 'acid resume'\n";
    return static_cast<int>(acid::Exit::run_failed);
  } catch (const std::bad_alloc&) {
    std::cerr << "acid-worker: error: out of memory; use fewer workers, a smaller model or batch, "
                 "or a machine with more, then 'acid resume'\n";
    return static_cast<int>(acid::Exit::run_failed);
  } catch (const std::exception& error) {
    std::cerr << "acid-worker: this is a bug in acid: " << error.what() << "\n";
    return static_cast<int>(acid::Exit::run_failed);
  }
}
