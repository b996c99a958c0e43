// Measures the cost of an exchange beside a bare MPI_Sendrecv of the same vectors in the same job,
// and the cost of a process that waits. `acid-bench exchange` starts it and reads its output:
//
//   mpirun -n 2 --bind-to none --oversubscribe acid-exchange-bench FILE [ROUNDS [SECONDS]]
//
// In each round it writes to FILE "exchange FLOATS OURS BARE", in milliseconds, a line per length,
// and "idle PERCENT" of a core, for the busier of two processes that wait this many seconds for
// each other.
#include <mpi.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/transport/mpi_runtime.hpp"

using namespace acid;

namespace {

constexpr int kRounds = 7;

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

void compare(Transport& transport, std::size_t floats, int rounds, std::ostream& file) {
  std::vector<float> own(floats, 1.0f), other(floats, 0.0f);
  const int repetitions = floats < 1'000'000 ? 20 : 2;
  exchange(transport, own, other);
  bare_exchange(transport.rank(), own, other);
  for (int round = 0; round < rounds; ++round) {
    const double ours = measure(repetitions, [&] { exchange(transport, own, other); });
    const double bare = measure(repetitions, [&] { bare_exchange(transport.rank(), own, other); });
    if (transport.rank() == 0)
      file << fmt::format("exchange {} {:.6f} {:.6f}\n", floats, ours, bare);
  }
}

void idle(Transport& transport, double seconds, std::ostream& file) {
  const SteadyClock clock;
  MPI_Barrier(MPI_COMM_WORLD);
  const double cpu = cpu_seconds();
  const double until = clock.seconds() + seconds;
  while (clock.seconds() < until) transport.wait(until - clock.seconds());
  const double share = (cpu_seconds() - cpu) / seconds;
  double most = 0;
  MPI_Allreduce(&share, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (transport.rank() == 0) file << fmt::format("idle {:.6f}\n", 100 * most);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 2 ? std::atoi(argv[2]) : kRounds;
  const double idle_seconds = argc > 3 ? std::atof(argv[3]) : 1;
  MpiRuntime& mpi = start_mpi();
  mpi.assemble(60, [](int) {});
  if (mpi.size() != 2 || argc < 2) {
    std::cerr << "acid-exchange-bench needs two processes and the name of a file\n";
    mpi.abort(2);
  }
  std::ofstream file;
  if (mpi.rank() == 0) file.open(argv[1]);
  const auto transport = mpi.connect({});
  for (const std::size_t floats :
       {std::size_t{1000}, std::size_t{670'000}, std::size_t{11'200'000}})
    compare(*transport, floats, rounds, file);
  for (int round = 0; round < rounds; ++round) idle(*transport, idle_seconds, file);
  transport->leave();
  if (mpi.rank() == 0 && !file.flush()) {
    std::cerr << "acid-exchange-bench cannot write " << argv[1] << "\n";
    mpi.abort(1);
  }
  mpi.finish(true);
}
