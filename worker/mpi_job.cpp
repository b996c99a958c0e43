#include "worker/mpi_job.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <thread>

#include "engine/base/error.hpp"
#include "worker/mpi.hpp"
#include "worker/watchdog.hpp"

namespace acid {
namespace {

// After a loss: the launcher knows the cause better, so it gets time to say it, and rank 0 gets
// time to record it.
constexpr double kSecondsForLauncher = 1;
constexpr double kSecondsToBeRead = 0.2;  // by the launcher, before it hears of the end
constexpr double kSecondsForRankZero = 5;
constexpr double kSecondsToFail = 15;  // for rank 0 itself, to record and say its own error

void linger(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void give_up(MpiRuntime& mpi, const LostProcess& loss, bool others_go_on) {
  // The others take this process for dead. It ends by SIGKILL: any other end might end the job.
  if (others_go_on && loss.rank() == mpi.rank()) ::raise(SIGKILL);
  // A rank 0 that fails closes its connections before it reports its error, so wait longer then. If
  // it died, the launcher hears of it first and ends all processes, unless the run is to go on.
  const bool rank_zero_lost = loss.rank() == 0;
  const bool may_have_failed = rank_zero_lost && !loss.silent() && !others_go_on;
  linger(may_have_failed                                        ? kSecondsToFail
         : mpi.rank() == 0 || (rank_zero_lost && !others_go_on) ? kSecondsForLauncher
                                                                : kSecondsForRankZero);
  const int next_speaker = loss.rank() == 1 ? 2 : 1;  // speaks when rank 0 cannot, or not in time
  if (mpi.rank() == 0 || mpi.rank() == next_speaker) complain(loss.what());
  linger(kSecondsToBeRead);
  if (others_go_on && mpi.rank() != 0) std::_Exit(static_cast<int>(Exit::lost));
  mpi.abort(static_cast<int>(Exit::lost));
}

void give_up(MpiRuntime& mpi, const std::string& what, Exit code) {
  complain(mpi.rank() == 0 ? what : fmt::format("worker {}: {}", mpi.rank(), what));
  linger(kSecondsToBeRead);
  mpi.abort(static_cast<int>(code));
}

}  // namespace

MpiRuntime& start_job(double start_seconds) {
  const Watchdog watchdog(start_seconds, "MPI did not start", kWaitLonger,
                          [] { return waiting_words(0, 0); });
  try {
    return start_mpi();
  } catch (const Error& error) {  // all processes have the same error; rank 0 reports it
    if (rank_in_environment() == 0) throw;
    std::_Exit(static_cast<int>(error.code()));
  }
}

// Waits as long as further processes arrive, which can take minutes on a busy host.
void assemble_job(MpiRuntime& mpi, double start_seconds) {
  std::atomic<int> here = 0;
  const Watchdog watchdog(start_seconds * mpi.size(), "the processes did not all answer",
                          kWaitLonger, [&] { return waiting_words(here, mpi.size()); });
  mpi.assemble(start_seconds, [&](int count) { here = count; });
}

void do_in_job(MpiRuntime& mpi, double start_seconds, const std::function<void()>& work,
               const bool& others_go_on) {
  try {
    assemble_job(mpi, start_seconds);
    work();
  } catch (const LostProcess& loss) {
    give_up(mpi, loss, others_go_on);
  } catch (const Error& error) {
    give_up(mpi, error.what(), error.code());
  } catch (const std::bad_alloc&) {
    give_up(mpi, "out of memory; place fewer workers on a host, or use a smaller model or batch",
            Exit::run_failed);
  } catch (const std::exception& error) {
    give_up(mpi, fmt::format("this is a bug in acid: {}", error.what()), Exit::run_failed);
  }
}

void finish_job(MpiRuntime& mpi, bool all) {
  const Watchdog watchdog(kSecondsToAnswer, "MPI did not end");
  mpi.finish(all);
}

}  // namespace acid
