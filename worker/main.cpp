// acid-worker: the engine. acid starts it with a store and a run id; the store is the only channel
// between the two.
#include <fmt/format.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "engine/base/error.hpp"
#include "engine/base/signals.hpp"
#include "engine/base/worker_words.hpp"
#include "engine/environment/build_info.hpp"
#include "engine/environment/environment.hpp"
#include "engine/models/model.hpp"
#include "store/existing_store.hpp"
#include "worker/calibrate.hpp"
#include "worker/device.hpp"
#include "worker/execute_run.hpp"
#include "worker/export.hpp"
#include "worker/mpi.hpp"
#include "worker/verify.hpp"

namespace acid {
namespace {

// LibTorch and what small runs leave in the allocator are far less.
constexpr std::int64_t kMostBytes = 1 << 30;

std::int64_t resident_bytes() {
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Tells acid on kMoreRuns how this process's run ended, and waits for the next one. Returns what
// acid answers: a run's id, and after it " --fresh" where the run is to start again. Absent when
// there is none, acid is gone, or the process has grown so large that another one should follow.
std::optional<std::string> next_run(Exit ended) {
  if (resident_bytes() > kMostBytes) return std::nullopt;
  const std::string code = fmt::format("{}", static_cast<int>(ended));
  if (send(kMoreRuns, code.data(), code.size(), MSG_NOSIGNAL) < 0) return std::nullopt;
  std::array<char, 64> answer{};
  ssize_t count = -1;
  do count = recv(kMoreRuns, answer.data(), answer.size(), 0);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return std::nullopt;
  return std::string(answer.data(), static_cast<std::size_t>(count));
}

/// Whether the acid that started this process has died. A debugger or a script may stand between
/// the two, so acid need not be the parent of this process.
bool supervisor_is_gone() {
  const char* supervisor = std::getenv("ACID_PARENT_PID");
  if (supervisor == nullptr || std::to_string(getppid()) == supervisor) return false;
  std::ifstream file(std::string("/proc/") + supervisor + "/stat");
  std::string line;
  if (!std::getline(file, line)) return true;
  const std::size_t name_end = line.rfind(") ");  // the name itself may hold any text
  return name_end != std::string::npos && line.find_first_of("ZX", name_end) == name_end + 2;
}

/// Turns kStopSignals, apart from a SIGHUP that is ignored, into a stop request, on a thread of its
/// own. After the request only a SIGINT ends the process at once: a scheduler sends signals to
/// every process and often several, a logout sends a SIGHUP after the SIGTERM, and acid passes on
/// its own signals. As long as there is nothing to save, any of the signals ends the process at
/// once, since the preparation may take long and does not check for a request. When acid has died,
/// no user can send a second signal: then the process ends by itself after a minute. Construct it
/// before any other thread, so that all threads inherit the blocked signals.
class SignalWatch {
 public:
  /// `beside_acid`: whether acid runs on this host, where its death can be seen.
  explicit SignalWatch(bool beside_acid) : beside_acid_(beside_acid) {
    sigemptyset(&signals_);
    for (const int signal : kStopSignals)
      if (signal != SIGHUP || !ignored(SIGHUP)) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this] { watch(); });
  }
  ~SignalWatch() {
    over_ = true;
    pthread_kill(thread_.native_handle(), SIGUSR2);
    thread_.join();
  }
  std::stop_token token() const { return stop_.get_token(); }
  void request_stop() { stop_.request_stop(); }
  /// Whether there is something to save, and a stop request is heard.
  void there_is_something_to_save(bool is = true) { saves_ = is; }

 private:
  static constexpr time_t kSecondsToSaveAlone = 60;

  // Waits for the next signal; returns 0 after `seconds` without one.
  int next_signal(time_t seconds) const {
    const timespec timeout{seconds, 0};
    int signal = -1;
    do signal = sigtimedwait(&signals_, nullptr, &timeout);
    while (signal < 0 && errno == EINTR);
    return std::max(signal, 0);
  }
  void watch() {
    time_t alone = 0;  // for how many seconds acid is known to be dead
    while (true) {
      const int signal = next_signal(1);
      if (over_) return;
      const bool stopping = stop_.stop_requested();
      if (signal != 0 && (!saves_ || (stopping && signal == SIGINT))) end();
      if (signal != 0) stop_.request_stop();
      if (!stopping || signal != 0 || !beside_acid_ || !supervisor_is_gone()) continue;
      if (++alone >= kSecondsToSaveAlone) end();
    }
  }
  [[noreturn]] static void end() { std::_Exit(static_cast<int>(Exit::interrupted)); }

  const bool beside_acid_;
  sigset_t signals_;
  std::atomic<bool> saves_ = false;
  std::atomic<bool> over_ = false;
  std::stop_source stop_;
  std::thread thread_;
};

// `acid-worker --launch PROGRAM ARGUMENT…` becomes the program, to which the system sends SIGUSR1
// when acid dies. Only the process itself can arrange that. A batch system or a logout that ends a
// job sends its signals to each process of the job: the workers save at such a signal, so the
// launcher must not hear it and end them.
Exit launch(char** command) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGHUP, SIGXCPU}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (supervisor_is_gone()) return Exit::interrupted;
  execvp(command[0], command);
  throw Error(fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
}

// Under MPI the parent is a launcher, and without it the other processes do not hear of a stop: a
// process that is left alone must not go on.
int signal_when_orphaned(bool mpi) {
  const char* supervisor = std::getenv("ACID_PARENT_PID");
  const bool launched = supervisor == nullptr || std::to_string(getppid()) != supervisor;
  return mpi && launched ? SIGKILL : SIGTERM;
}

Exit print_environment() {
  nlohmann::json surroundings = environment("");
  try {
    ModelRuntime& runtime = load_model_runtime();
    surroundings["model_runtime"] = runtime.environment();
    surroundings["model_runtime"]["speed"] = runtime.speed();
  } catch (const Error& error) {
    surroundings["model_runtime"] = {{"error", error.what()}};
  }
  surroundings["cuda"] = cuda_environment();
  std::cout << surroundings.dump(2) << "\n";
  return Exit::ok;
}

/// The command that executes the run alone.
std::string command_line(const char* program, const ExecuteOptions& run) {
  return fmt::format("{} --store {} --run {}{}{}", program, run.store_folder, run.run_id,
                     run.fresh ? " --fresh" : "", run.allow_changed ? " --allow-changed" : "");
}

std::string resume_command(const ExecuteOptions& run) {
  return fmt::format("'acid resume {}'", run.run_id);
}

/// Executes the run of the options, then those that acid hands over, until it has none, a signal
/// has asked to stop, or a run throws: what is wrong with this process may be wrong for the next
/// run as well.
Exit execute_runs(ExecuteOptions& execute, const char* program, bool more, SignalWatch& signals,
                  std::string& again) {
  Store store = open_existing_store(execute.store_folder);
  while (true) {
    const Exit exit = execute_run(store, execute, signals.token());
    signals.there_is_something_to_save(false);
    // A signal that came before counts; one that comes from now on ends this process at once.
    if (!more || signals.token().stop_requested()) return exit;
    const auto next = next_run(exit);
    if (!next) return exit;
    execute.run_id = next->substr(0, next->find(' '));
    execute.fresh = next->size() > execute.run_id.size();
    execute.command_line = command_line(program, execute);
    again = resume_command(execute);
  }
}

// `again`: the command to run after a failure for want of memory or threads, once there is more.
Exit run(int argc, char** argv, std::string& again) {
  CLI::App app("The engine of acid. Use acid run.", "acid-worker");
  ExecuteOptions execute;
  VerifyOptions verify;
  bool only_environment = false, only_verify = false, mpi = false;
  bool only_torchscript = false, only_test_set = false, more = false;
  std::string order_file;
  app.add_option("--store", execute.store_folder, "folder of the store");
  app.add_option("--run", execute.run_id, "id of the run to execute");
  app.add_flag("--fresh", execute.fresh, "start again instead of going on from a checkpoint");
  app.add_flag("--allow-changed", execute.allow_changed, "go on though program or data changed");
  app.add_flag("--more", more, "execute more runs, which acid names on descriptor 3");
  app.add_flag("--verify", only_verify, "execute it again or replay it, and compare every digest");
  app.add_option("--from", verify.from, "verify from this checkpoint on");
  app.add_option("--until", verify.until, "verify up to this checkpoint");
  app.add_flag("--json", verify.json, "print the verdict as JSON");
  app.add_flag("--torchscript", only_torchscript, "print its final model as a TorchScript module");
  app.add_flag("--test-set", only_test_set, "print the examples that evaluate it, as safetensors");
  app.add_flag("--mpi", mpi, "this is one of the run's processes, one per worker");
  app.add_option("--start-seconds", execute.start_seconds,
                 "with --mpi: how long to wait for each other process before the run begins");
  app.add_option("--calibrate", order_file, "measure what this file orders, and print it as JSON");
  app.add_flag("--environment", only_environment, "print what this machine has, as JSON");
  app.set_version_flag("--version", build_info().version);
  try {
    app.parse(argc, argv);
    const bool needs_run =
        !only_environment && order_file.empty() && !(mpi && rank_in_environment() != 0);
    if (needs_run && (execute.store_folder.empty() || execute.run_id.empty()))
      throw CLI::RequiredError("--store and --run");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? Exit::ok : Exit::usage;
  }
  if (only_environment) return mpi ? print_mpi_environment() : print_environment();
  // If acid dies, this process stops as at a signal, and its output has no reader.
  prctl(PR_SET_PDEATHSIG, signal_when_orphaned(mpi));
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow is an error, like a full disk, not a signal.
  std::signal(SIGXFSZ, SIG_IGN);
  if (!order_file.empty())
    return mpi ? calibrate_mpi(order_file, execute.start_seconds) : calibrate(order_file);
  if (only_torchscript) return print_torchscript(execute.store_folder, execute.run_id);
  if (only_test_set) return print_test_set(execute.store_folder, execute.run_id);
  again = only_verify ? fmt::format("'acid verify {}'", execute.run_id) : resume_command(execute);
  // On other hosts acid cannot be seen: there only rank 0 watches it.
  const bool beside_acid = !mpi || rank_in_environment() == 0;
  SignalWatch signals(beside_acid);
  // acid may have died before prctl was called.
  if (beside_acid && supervisor_is_gone()) signals.request_stop();
  for (int k = 0; k < argc; ++k)
    if (std::string_view(argv[k]) != "--more")
      execute.command_line += (k > 0 ? " " : "") + std::string(argv[k]);
  execute.begins = [&signals] { signals.there_is_something_to_save(); };
  if (mpi) {
    execute.begins();  // a process that ends while the processes meet would take the others with it
    return execute_mpi(execute, signals.token());
  }
  if (!only_verify) {
    const Exit exit = execute_runs(execute, argv[0], more, signals, again);
    // All is written. The destructors of LibTorch and its libraries would free memory for a tenth
    // of a second.
    if (model_runtime_is_loaded()) std::_Exit(static_cast<int>(exit));
    return exit;
  }
  verify.store_folder = execute.store_folder;
  verify.run_id = execute.run_id;
  verify.command_line = execute.command_line;
  return verify_run(verify, signals.token());
}

// Runs the command line and says what went wrong.
Exit run_and_tell(int argc, char** argv) {
  std::string again = "try again";
  try {
    if (argc > 2 && std::string_view(argv[1]) == "--launch") return launch(argv + 2);
    return run(argc, argv, again);
  } catch (const Error& error) {
    std::cerr << kWorkerErrorPrefix << error.what() << "\n";
    return error.code();
  } catch (const std::system_error& error) {
    std::cerr << kWorkerErrorPrefix << "the system refuses what the run needs: " << error.what()
              << "; give it more memory or threads, or use fewer workers, then " << again << "\n";
  } catch (const std::bad_alloc&) {
    std::cerr << kWorkerErrorPrefix
              << "out of memory; use fewer workers, a smaller model or batch, "
                 "or a machine with more, then "
              << again << "\n";
  } catch (const nlohmann::json::exception& error) {
    std::cerr << kWorkerErrorPrefix
              << "the store is damaged: this run's data is not as acid writes it (" << error.what()
              << "); 'acid doctor --store' looks for more damage\n";
    return Exit::store;
  } catch (const std::exception& error) {
    std::cerr << "acid-worker: this is a bug in acid: " << error.what() << "\n";
  }
  return Exit::run_failed;
}

}  // namespace
}  // namespace acid

int main(int argc, char** argv) { return static_cast<int>(acid::run_and_tell(argc, argv)); }
