// Run under mpirun by the test: runs of several methods and codecs, one process per worker,
// compared with the bytes that left over each process's TCP sockets meanwhile. Prints "METHOD CODEC
// SENT RECORDED" of the difference between a longer run and a shorter one, so that neither includes
// the start-up and the end, where rank 0 gathers all models.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/data/analytic.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/recorder/null_recorder.hpp"
#include "engine/topology/spectral.hpp"
#include "engine/transport/mpi_runtime.hpp"
#include "tests/codecs/made.hpp"

using namespace acid;
using nlohmann::json;

namespace {

/// Long enough that headers, clocks and heartbeats are a small part of the codec's messages.
int dimension_for(const json& codec) {
  return !codec.is_null() && codec["kind"] == "sign" ? 1 << 20 : 1 << 17;
}

/// Payload that the sockets of this process have sent, without retransmissions.
std::uint64_t sent_by_sockets() {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    tcp_info info{};
    socklen_t size = sizeof info;
    const int descriptor = std::stoi(entry.path().filename());
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
    if (size < offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans)
      throw Error("this kernel does not count what a socket sends");
    bytes += info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
  }
  return bytes;
}

struct Bytes {
  double sent = 0, recorded = 0;
};

Bytes bytes_of_run(MpiRuntime& mpi, const char* algorithm, const json& codec, int gradients) {
  const bool one_way = std::string(algorithm) == "sgp";
  const Topology graph =
      make_topology(mpi.size(), one_way ? json{{"kind", "one-peer-exponential"}, {"directed", true}}
                                        : json{{"kind", "ring"}});
  const AlgorithmEntry* const entry = find_algorithm(algorithm);
  json options = with_fallbacks(entry->fields, json::object());
  if (!codec.is_null()) options["codec"] = codec;
  const Spectral nominal = spectral(graph, 1);
  RunSpec spec;
  spec.workers = mpi.size();
  spec.topology = &graph;
  spec.seeds = Seeds(3);
  spec.method = method_of(*entry, options, &nominal);
  spec.schedule.learning_rate = 1e-3;
  spec.budget.gradients = gradients * spec.workers;
  spec.cadence.consensus_every = kNever;
  const json task = {{"dimension", dimension_for(codec)}, {"noise", 0.0}, {"heterogeneity", 1.0}};
  const AnalyticEntry* const analytic = find_analytic("quadratic");
  const auto objective = analytic->make(with_fallbacks(analytic->fields, task), spec.workers, 1,
                                        {{"kind", "iid"}}, 0, spec.seeds, 2);
  const auto transport = mpi.connect({});
  NullRecorder recorder;
  mpi.gather("");
  const std::uint64_t before = sent_by_sockets();
  MpiOptions mpi_options;
  mpi_options.transport = transport.get();
  const Outcome outcome = run_mpi({spec, *objective, recorder}, mpi_options);
  const auto sent = static_cast<double>(sent_by_sockets() - before);
  Bytes bytes{0, static_cast<double>(outcome.position.bytes)};
  for (const std::string& one : mpi.gather(std::to_string(sent))) bytes.sent += std::stod(one);
  transport->leave();
  mpi.gather("");
  return bytes;
}

void run(MpiRuntime& mpi) {
  std::vector<json> codecs;
  for (const CodecEntry& entry : codec_catalog())
    codecs.push_back(entry.make == nullptr
                         ? json()
                         : test::codec_options(entry, {{"error_feedback", entry.name == "sign"}}));
  // Most elements do not fit.
  codecs.push_back(
      {{"kind", "lattice"}, {"bits", 4}, {"spacing", 1e-5}, {"error_feedback", false}});
  for (const char* const algorithm : {"ad-psgd", "d-psgd", "ar-sgd", "sgp"})
    for (const json& codec : codecs) {
      const std::string kind = codec.is_null() ? "none" : codec["kind"];
      const bool everywhere = kind == "none" || kind == "sign" || kind == "lattice";
      if (std::string(algorithm) != "ad-psgd" && !everywhere) continue;
      const Bytes shorter = bytes_of_run(mpi, algorithm, codec, 2);
      const Bytes longer = bytes_of_run(mpi, algorithm, codec, 10);
      if (mpi.rank() != 0) continue;
      std::cout << algorithm << ' ' << kind << ' '
                << static_cast<std::int64_t>(longer.sent - shorter.sent) << ' '
                << static_cast<std::int64_t>(longer.recorded - shorter.recorded) << std::endl;
    }
  mpi.finish(/*all=*/true);
}

}  // namespace

int main() {
  MpiRuntime& mpi = start_mpi();
  mpi.assemble(60, [](int) {});
  try {
    run(mpi);
  } catch (const std::exception& error) {
    std::cerr << "rank " << mpi.rank() << ": " << error.what() << '\n';
    mpi.abort(1);
  }
  return 0;
}
