// What an exchange costs beside a bare MPI_Sendrecv of the same vectors in the same job, and what a
// process costs that waits. `acid-bench exchange` starts it and reads what it prints:
//
//   mpirun -n 2 --bind-to none --oversubscribe acid-exchange-bench [ROUNDS [SECONDS]]
//
// "exchange FLOATS OURS BARE" in milliseconds, a line per round; "idle PERCENT" of a core, of the
// busier of two processes that wait for each other.
#include <mpi.h>
#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/transport/mpi_runtime.hpp"

using namespace acid;

namespace {

/// This process's user and system time.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void exchange(Transport& transport, std::span<const float> own, std::span<float> other) {
  const auto sent = transport.send(1 - transport.rank(), {}, own);
  std::optional<Mail> mail;
  while (!(mail = transport.next())) transport.wait(1);
  const auto fetched = transport.fetch(*mail, other);
  while (!transport.done(fetched) || !transport.done(sent)) transport.wait(1);
}

void bare_exchange(int rank, std::span<const float> own, std::span<float> other) {
  MPI_Sendrecv(own.data(), static_cast<int>(own.size()), MPI_FLOAT, 1 - rank, 0, other.data(),
               static_cast<int>(other.size()), MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/// Milliseconds, the mean of both processes.
template <class Exchange>
double measure(int repetitions, const Exchange& one) {
  const SteadyClock clock;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = clock.seconds();
  for (int k = 0; k < repetitions; ++k) one();
  const double mine = (clock.seconds() - begun) / repetitions;
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / 2 * 1e3;
}

void compare(Transport& transport, std::size_t floats, int rounds) {
  std::vector<float> own(floats, 1.0f), other(floats, 0.0f);
  const int repetitions = floats < 1'000'000 ? 20 : 2;
  exchange(transport, own, other);
  bare_exchange(transport.rank(), own, other);
  for (int round = 0; round < rounds; ++round) {
    const double ours = measure(repetitions, [&] { exchange(transport, own, other); });
    const double bare = measure(repetitions, [&] { bare_exchange(transport.rank(), own, other); });
    if (transport.rank() == 0)
      std::cout << fmt::format("exchange {} {:.6f} {:.6f}", floats, ours, bare) << std::endl;
  }
}

void idle(Transport& transport, double seconds) {
  const SteadyClock clock;
  MPI_Barrier(MPI_COMM_WORLD);
  const double cpu = cpu_seconds();
  const double until = clock.seconds() + seconds;
  while (clock.seconds() < until) transport.wait(until - clock.seconds());
  const double share = (cpu_seconds() - cpu) / seconds;
  double most = 0;
  MPI_Allreduce(&share, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (transport.rank() == 0) std::cout << fmt::format("idle {:.6f}", 100 * most) << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const double idle_seconds = argc > 2 ? std::atof(argv[2]) : 5;
  MpiRuntime& mpi = start_mpi();
  if (mpi.size() != 2) {
    std::cerr << "acid-exchange-bench needs two processes\n";
    mpi.abort(2);
  }
  const auto transport = mpi.connect({});
  for (const std::size_t floats :
       {std::size_t{1000}, std::size_t{670'000}, std::size_t{11'200'000}})
    compare(*transport, floats, rounds);
  idle(*transport, idle_seconds);
  transport->leave();
  mpi.finish();
}
