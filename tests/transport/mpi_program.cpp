// Run under mpirun by the test: tries the runtime and its transport, and exits with 0 when every
// check holds in this process.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/transport/mpi_runtime.hpp"
#include "tests/processor_time.hpp"
#include "tests/transport/letters.hpp"

using namespace acid;
using namespace acid::test;

namespace {

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error("does not hold: " + what);
}

void try_collectives(MpiRuntime& mpi) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{3'000'000}}) {
    const std::string spread(size, 'b');
    expect(mpi.broadcast(mpi.rank() == 0 ? spread : "mine") == spread, "broadcast");
  }
  const auto texts = mpi.gather(std::string(static_cast<std::size_t>(mpi.rank()), 'g'));
  expect(texts.size() == static_cast<std::size_t>(mpi.size()), "gather: number");
  for (std::size_t k = 0; k < texts.size(); ++k) expect(texts[k] == std::string(k, 'g'), "gather");
  std::vector<float> values(1000, static_cast<float>(mpi.rank() + 1));
  mpi.library_sum(values);
  const auto sum = static_cast<float>(mpi.size() * (mpi.size() + 1) / 2);
  expect(values == std::vector<float>(1000, sum), "library_sum");
}

void try_failing_connect(MpiRuntime& mpi) {
  try {
    mpi.connect({"", mpi.rank() == mpi.size() - 1 ? "no-such-0" : ""});
  } catch (const Error& error) {
    const std::string message = error.what();
    return expect(message.find("'no-such-0'") != std::string::npos,
                  "who cannot listen: " + message);
  }
  expect(false, "connect fails in all when it does in one");
}

float value_of(int from, int to, std::size_t size, std::size_t index) {
  return static_cast<float>(from * 100 + to * 10) + static_cast<float>((size + index) % 97);
}

/// Sends bodies of all sizes to all processes at once, and fetches them in the opposite order.
void try_bodies(Transport& transport) {
  const std::vector<std::size_t> sizes{0, 1, 1'000'000, 64};
  std::vector<std::vector<float>> bodies;
  std::vector<Transport::Ticket> tickets;
  for (int to = 0; to < transport.size(); ++to)
    for (const std::size_t size : sizes) {
      std::vector<float> body(size);
      for (std::size_t k = 0; k < size; ++k) body[k] = value_of(transport.rank(), to, size, k);
      bodies.push_back(std::move(body));
      tickets.push_back(transport.send(to, letter(std::to_string(size)), bodies.back()));
    }
  std::vector<Mail> mails;
  std::vector<std::size_t> heard(static_cast<std::size_t>(transport.size()), 0);
  while (mails.size() < bodies.size()) {
    mails.push_back(receive(transport));
    const Mail& mail = mails.back();
    const std::size_t expected = sizes.at(heard[static_cast<std::size_t>(mail.from)]++);
    expect(mail.body_size == expected && text(mail.header) == std::to_string(expected), "order");
  }
  std::vector<std::vector<float>> fetched;
  while (!mails.empty()) {
    const Mail mail = std::move(mails.back());
    mails.pop_back();
    fetched.emplace_back(mail.body_size, -1.0F);
    const auto ticket = transport.fetch(mail, fetched.back());
    while (!transport.done(ticket)) transport.wait(10);
    for (std::size_t k = 0; k < mail.body_size; ++k)
      expect(fetched.back()[k] == value_of(mail.from, transport.rank(), mail.body_size, k), "body");
  }
  for (const auto ticket : tickets) {
    while (!transport.done(ticket)) transport.wait(10);
    expect(transport.done(ticket), "done stays so");
  }
}

/// The share of a core that the process uses while it waits for `seconds`.
double idle_share(Transport& transport, double seconds) {
  const SteadyClock clock;
  const double start = clock.seconds(), until = start + seconds;
  const ProcessorTime used;
  while (clock.seconds() < until) transport.wait(until - clock.seconds());
  return used.seconds() / (clock.seconds() - start);
}

/// A process that polls always uses much of a core; one that sleeps sometimes uses little, even on
/// a slow machine.
void try_idling(Transport& transport) {
  double least = 1;
  for (int tries = 0; tries < 10 && least >= 0.03; ++tries)
    least = std::min(least, idle_share(transport, 1));
  expect(least < 0.03, fmt::format("an idle process uses {:.1f} % of a core", 100 * least));
}

/// One body waits to be fetched for a while: this wait must cost nothing, too.
void try_waiting_for_the_other(Transport& transport) {
  const int other = transport.rank() ^ 1;
  if (other >= transport.size()) return;
  const std::vector<float> body(1'000'000, 3.0F);
  std::vector<float> into(body.size());
  const auto sent = transport.send(other, {}, body);
  const Mail mail = receive(transport);
  try_idling(transport);
  const auto fetched = transport.fetch(mail, into);
  while (!transport.done(fetched) || !transport.done(sent)) transport.wait(10);
  expect(into == body, "a body fetched late");
}

/// Every process opens a window, and writes into the next one's; there are no windows if bodies
/// travel another way.
void try_windows(MpiRuntime& mpi, Transport& transport, bool any) {
  constexpr std::size_t kFloats = 3'000'000;
  const std::span<float> own = transport.open_window(kFloats);
  expect(own.size() == kFloats && own.back() == 0, "a window of its own");
  mpi.gather("");  // all are open
  const int next = (transport.rank() + 1) % transport.size();
  const std::span<float> others = transport.window(next, kFloats);
  expect(others.size() == (any ? kFloats : 0), "the window of another process");
  expect(transport.window(next, kFloats).data() == others.data(), "one mapping");
  if (any) others.back() = 1;
  mpi.gather("");
  expect(own.back() == (any ? 1.0F : 0.0F), "what another process wrote is there");
}

void run(MpiRuntime& mpi) {
  try_collectives(mpi);
  try_failing_connect(mpi);
  const auto transport = mpi.connect({});
  expect(transport->rank() == mpi.rank() && transport->size() == mpi.size(), "places");
  for (int repetition = 0; repetition < 3; ++repetition) try_bodies(*transport);
  try_waiting_for_the_other(*transport);
  mpi.gather("");  // no process waits any more
  const char* const bodies = std::getenv("ACID_MPI_BODIES");
  if (mpi.size() > 1)
    try_windows(mpi, *transport, bodies == nullptr || std::string(bodies) == "window");
  transport->leave();
  mpi.finish(/*all=*/true);
}

}  // namespace

int main() {
  MpiRuntime& mpi = start_mpi();
  std::vector<int> come;
  mpi.assemble(60, [&](int here) { come.push_back(here); });
  expect(mpi.rank() != 0 || (come.front() == 1 && come.back() == mpi.size()), "assemble");
  try {
    run(mpi);
  } catch (const std::exception& error) {
    std::cerr << "rank " << mpi.rank() << ": " << error.what() << '\n';
    mpi.abort(1);
  }
  return 0;
}
