#include "worker/mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/stop_latch.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/environment/environment.hpp"
#include "engine/recorder/null_recorder.hpp"
#include "engine/transport/left_segments.hpp"
#include "engine/transport/mpi_runtime.hpp"
#include "store/existing_store.hpp"
#include "store/queries.hpp"
#include "worker/attempt.hpp"
#include "worker/claims.hpp"
#include "worker/device.hpp"
#include "worker/mpi_job.hpp"
#include "worker/ranks.hpp"
#include "worker/watchdog.hpp"
#include "worker/watched_files.hpp"

namespace acid {
namespace {

constexpr double kSecondsToStart = 60;  // alone, for acid doctor
constexpr double kSecondsToMeet = 90;   // longer than connect() itself waits for a connection

constexpr double kLongestPause = 0.25;  // between two signs of life

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Runs `job` in every process and returns the texts by rank; none is empty. Each job runs at its
/// own pace on a thread of its own, while all processes show each other that they are alive.
std::vector<std::string> gather_while_alive(MpiRuntime& mpi, double start_seconds,
                                            const std::function<std::string()>& job) {
  StopLatch done;
  std::string words;
  std::exception_ptr failure;
  std::jthread thread([&] {
    try {
      words = job();
    } catch (...) {
      failure = std::current_exception();
    }
    done.set();
  });
  std::vector<std::string> all;
  for (double pause = 0.002; all.empty(); pause = std::min(2 * pause, kLongestPause)) {
    if (done.is_set() && pause > 0.002)
      sleep(pause);
    else
      done.sleep(pause);
    const Watchdog watchdog(start_seconds, "the processes did not all answer", kWaitLonger);
    all = mpi.gather(done.is_set() ? "=" + words : "");
    if (std::find(all.begin(), all.end(), "") != all.end()) all.clear();
  }
  thread.join();
  if (failure) std::rethrow_exception(failure);
  for (std::string& each : all) each.erase(0, 1);
  return all;
}

/// Answers for a process between the end of its run and the end of MPI, while rank 0 records the
/// run. If the others waited for rank 0 inside MPI, they would burn a core each and miss its death.
class KeepAlive {
 public:
  explicit KeepAlive(std::unique_ptr<Transport> transport)
      : transport_(std::move(transport)), thread_([this](std::stop_token over) { keep(over); }) {}

  /// Lets the other processes go. Called when rank 0 has recorded the run.
  void part() {
    thread_.request_stop();
    thread_.join();
    if (lost_) return;  // the run is over, and how it ended is known
    for (int rank = 1; rank < transport_->size(); ++rank)
      transport_->send(rank, std::vector<std::byte>{});
    transport_->leave();
  }
  /// Waits in the other processes until rank 0 parts. Throws LostProcess.
  static void await_parting(Transport& transport) {
    while (true) {
      const auto mail = transport.next();
      if (!mail)
        transport.wait(kLongestPause);
      else if (mail->from == 0)
        break;
    }
    transport.leave();
  }

 private:
  void keep(std::stop_token over) {
    try {
      while (!over.stop_requested()) {
        transport_->wait(kLongestPause);
        while (transport_->next()) {  // late mail, which would keep wait() from sleeping
        }
      }
    } catch (const LostProcess&) {
      lost_ = true;
    }
  }

  std::unique_ptr<Transport> transport_;
  bool lost_ = false;  // belongs to the thread until it is joined
  std::jthread thread_;
};

/// One process's part in one run.
class MpiRun {
 public:
  MpiRun(const ExecuteOptions& options, std::stop_token stop, MpiRuntime& mpi)
      : options_(options), stop_(stop), mpi_(mpi), mpi_environment_(mpi.environment()) {}

  /// False, in all processes alike, when the run is not to be executed.
  bool prepare() {
    const std::string order = gather_while_alive(mpi_, options_.start_seconds, [&] {
                                return leads() ? order_of_run() : "";
                              }).front();
    if (order.empty()) return false;
    settings_ = nlohmann::json::parse(order);
    std::vector<RankReport> reports;
    for (const std::string& text :
         gather_while_alive(mpi_, options_.start_seconds, [&] { return compose_and_report(); }))
      reports.push_back(RankReport::from_text(text));
    return !gather_while_alive(mpi_, options_.start_seconds,
                               [&] { return leads() ? begin(reports) : ""; })
                .front()
                .empty();
  }

  Exit execute() {
    if (leads()) {
      const Exit exit =
          attempt_->execute([&](Recorder& recorder, const Checkpointing& checkpointing) {
            return drive(recorder, checkpointing);
          });
      keep_alive_->part();
      return exit;
    }
    NullRecorder nothing;
    WatchedFiles files(composed_->file_digests,
                       composed_->read_since);  // on this host; rank 0 looks at its own
    drive(nothing, {.look_first = [&] { files.refuse_changed(); }});
    return Exit::ok;
  }

  bool goes_on() const { return composed_ != nullptr && goes_on_without_lost(composed_->settings); }

  /// The error by which rank 0 refused the run; null when the run had finished before.
  std::exception_ptr refusal() const { return refusal_; }

 private:
  bool leads() const { return mpi_.rank() == 0; }
  const MpiSettings& asked() const { return *composed_->settings.execution.mpi; }

  // Runs a job of rank 0 alone. Its error keeps the run from beginning; no other process waits.
  template <class Job>
  std::string or_refuse(Job job) {
    try {
      return job();
    } catch (...) {
      refusal_ = std::current_exception();
      return {};
    }
  }

  /// The settings as text; empty when there is nothing to do.
  std::string order_of_run() {
    return or_refuse([&]() -> std::string {
      store_.emplace(open_existing_store(options_.store_folder));
      run_ = run_detail(*store_, options_.run_id);
      refuse_altered_settings(run_);
      if (run_.summary.state == RunState::finished && !options_.fresh) return {};
      if (!stored_settings(run_).execution.mpi)
        throw UsageError(fmt::format("run {} is not one for the mpi driver", options_.run_id));
      if (run_.summary.workers != mpi_.size())
        throw UsageError(
            fmt::format("run {} has {} workers, but {} process{} started: start one per worker",
                        options_.run_id, run_.summary.workers, mpi_.size(),
                        mpi_.size() == 1 ? " was" : "es were"));
      return run_.settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    });
  }

  std::string compose_and_report() {
    const int rank = mpi_.rank();
    std::string error;
    Exit code = Exit::run_failed;
    try {
      composed_ = compose(settings_from(settings_), usable_cores(), rank);
      require_fault_tolerance(*composed_, mpi_environment_);
      surroundings_ = environment_of(*composed_, settings_, options_.command_line);
      return report_of(rank, *composed_, surroundings_).text();
    } catch (const Error& told) {
      error = told.what();
      code = told.code();
    } catch (const std::bad_alloc&) {
      error = "out of memory: place fewer workers on this host, or use a smaller model or batch";
    } catch (const std::exception& bug) {
      error = fmt::format("this is a bug in acid: {}", bug.what());
    }
    return failed_report(rank, error, code).text();
  }

  std::string begin(const std::vector<RankReport>& reports) {
    return or_refuse([&]() -> std::string {
      auto remarks = compare_ranks(reports, options_.allow_changed);
      remarks.insert(remarks.end(), composed_->remarks.begin(), composed_->remarks.end());
      surroundings_["mpi"] = mpi_environment_;
      surroundings_["processes"] = processes_of(reports);
      while (!attempt_) {
        try {
          attempt_.emplace(options_, *store_, run_, *composed_, surroundings_, remarks);
        } catch (const Overtaken&) {
          run_ = run_detail(*store_, options_.run_id);
          if (run_.summary.state == RunState::finished && !options_.fresh) return {};
        }
      }
      return "go";
    });
  }

  std::unique_ptr<Transport> connect() {
    const Watchdog watchdog(kSecondsToMeet, "the processes did not all connect");
    return mpi_.connect(asked().transport);
  }

  DeviceConnection connect_devices(Recorder& recorder, const Transport& transport) {
    const RunSpec& spec = composed_->spec;
    // If one side of a swap dies, NCCL fails with it.
    if (composed_->cuda.is_null() || !spec.method.has_meetings() || spec.workers < 2 || goes_on())
      return {};
    const Watchdog watchdog(kSecondsToMeet, "the GPUs of the processes did not all connect");
    DeviceConnection devices = connect_devices_of(*composed_, mpi_, transport.places());
    if (devices.link == nullptr)
      recorder.note(Severity::info,
                    fmt::format("vectors go from GPU to GPU through the hosts' memory, without "
                                "NCCL: {}",
                                devices.why_not));
    return devices;
  }

  Outcome drive(Recorder& recorder, const Checkpointing& checkpointing) {
    auto transport = connect();
    MpiOptions options{.transport = transport.get(), .goes_on = goes_on()};
    if (const auto& factors = composed_->settings.execution.slow_factors; !factors.empty())
      options.slow_factor = factors[static_cast<std::size_t>(mpi_.rank())];
    if (asked().library_sum)
      options.library_sum = [this](std::span<float> values) {
        const Watchdog watchdog(kSecondsToAnswer, "the MPI library did not finish an all-reduce");
        mpi_.library_sum(values);
      };
    const DeviceConnection devices = connect_devices(recorder, *transport);
    options.link = devices.link.get();
    Outcome outcome =
        run_mpi({composed_->spec, *composed_->objective, recorder, checkpointing, stop_}, options);
    if (leads())
      keep_alive_.emplace(std::move(transport));
    else
      KeepAlive::await_parting(*transport);
    return outcome;
  }

  const ExecuteOptions& options_;
  const std::stop_token stop_;
  MpiRuntime& mpi_;  // main thread only
  const nlohmann::json mpi_environment_;
  nlohmann::json settings_, surroundings_;
  std::unique_ptr<ComposedRun> composed_;
  std::exception_ptr refusal_;
  // Used by rank 0 only.
  std::optional<Store> store_;
  RunDetail run_;
  std::optional<Attempt> attempt_;
  std::optional<KeepAlive> keep_alive_;
};

}  // namespace

Exit execute_mpi(const ExecuteOptions& options, std::stop_token stop) {
  remove_left_segments();
  MpiRuntime& mpi = start_job(options.start_seconds);
  Exit exit = Exit::ok;
  std::exception_ptr refusal;
  bool goes_on = false;
  const auto work = [&] {
    MpiRun run(options, stop, mpi);
    const bool executes = run.prepare();
    goes_on = executes && run.goes_on();
    if (executes) exit = run.execute();
    refusal = run.refusal();
  };
  do_in_job(mpi, options.start_seconds, work, goes_on);
  finish_job(mpi, !goes_on);
  // Those of an earlier attempt that was killed just before this one started were too young then.
  remove_left_segments();
  if (refusal) std::rethrow_exception(refusal);
  return exit;
}

Exit print_mpi_environment() {
  MpiRuntime& mpi = start_job(kSecondsToStart);
  assemble_job(mpi, kSecondsToStart);
  if (mpi.rank() == 0) std::cout << mpi.environment().dump(2) << "\n" << std::flush;
  finish_job(mpi);
  return Exit::ok;
}

int rank_in_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  return 0;
}

}  // namespace acid
