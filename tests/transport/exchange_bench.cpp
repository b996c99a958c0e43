// What an exchange costs beside a bare MPI_Sendrecv of the same vectors in the same job, and what a
// process costs that waits:
//
//   mpirun -n 2 --bind-to none --oversubscribe acid_exchange_bench [ROUNDS]
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
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

/// Milliseconds, seconds of CPU of both processes.
template <class Exchange>
std::pair<double, double> measure(int repetitions, const Exchange& one) {
  const SteadyClock clock;
  MPI_Barrier(MPI_COMM_WORLD);
  const double cpu = cpu_seconds();
  const double begun = clock.seconds();
  for (int k = 0; k < repetitions; ++k) one();
  const double mine[2] = {(clock.seconds() - begun) / repetitions,
                          (cpu_seconds() - cpu) / repetitions};
  double sums[2] = {};
  MPI_Allreduce(mine, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return {sums[0] / 2 * 1e3, sums[1] * 1e3};
}

void compare(Transport& transport, std::size_t floats, int rounds) {
  std::vector<float> own(floats, 1.0f), other(floats, 0.0f);
  std::vector<double> ours, bare, ours_cpu, bare_cpu, ratios;
  const int repetitions = floats < 1'000'000 ? 20 : 2;
  exchange(transport, own, other);
  bare_exchange(transport.rank(), own, other);
  for (int round = 0; round < rounds; ++round) {
    const auto [time, cpu] = measure(repetitions, [&] { exchange(transport, own, other); });
    const auto [bare_time, bare_cpu_time] =
        measure(repetitions, [&] { bare_exchange(transport.rank(), own, other); });
    ours.push_back(time);
    bare.push_back(bare_time);
    ours_cpu.push_back(cpu);
    bare_cpu.push_back(bare_cpu_time);
    ratios.push_back(time / bare_time);
  }
  if (transport.rank() != 0) return;
  std::cout << fmt::format(
      "{:>9} floats: {:8.3f} ms, bare {:8.3f} ms, ratio {:.2f} (median of {} rounds); CPU of both "
      "{:.3f} ms, bare {:.3f} ms\n",
      floats, median(ours), median(bare), median(ratios), rounds, median(ours_cpu),
      median(bare_cpu));
}

void idle(Transport& transport) {
  constexpr double kSeconds = 5;
  const SteadyClock clock;
  MPI_Barrier(MPI_COMM_WORLD);
  const double cpu = cpu_seconds();
  const double until = clock.seconds() + kSeconds;
  while (clock.seconds() < until) transport.wait(until - clock.seconds());
  const double share = (cpu_seconds() - cpu) / kSeconds;
  double most = 0;
  MPI_Allreduce(&share, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (transport.rank() == 0)
    std::cout << fmt::format("waiting for {:g} s: {:.3f} % of a core\n", kSeconds, 100 * most);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  MpiRuntime& mpi = start_mpi();
  if (mpi.size() != 2) {
    std::cerr << "acid_exchange_bench needs two processes\n";
    mpi.abort(2);
  }
  const auto transport = mpi.connect({});
  for (const std::size_t floats :
       {std::size_t{1000}, std::size_t{670'000}, std::size_t{11'200'000}})
    compare(*transport, floats, rounds);
  idle(*transport);
  transport->leave();
  mpi.finish();
}
