#include <algorithm>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/rng.hpp"
#include "engine/topology/catalog.hpp"
#include "engine/topology/laplacian.hpp"
#include "engine/topology/mixing_schedule.hpp"

namespace acid {
namespace {

constexpr Field kEpidemicFields[] = {
    {"peers", FieldType::integer, "2",
     "workers that each sends to; all others where they are fewer", 1},
    {.name = "form",
     .type = FieldType::text,
     .fallback = "\"oracle\"",
     .help = "oracle: a random regular graph; local: receivers average what arrives, which moves "
             "the mean; push: senders divide, for methods with push-sum",
     .choices = "oracle,local,push"},
};

/// `count` of the other workers, each equally likely (Floyd).
std::set<int> drawn_peers(int worker, int workers, int count, Stream& stream) {
  std::set<int> chosen;
  for (int last = workers - 1 - count; last < workers - 1; ++last) {
    const int candidate = static_cast<int>(stream.below(static_cast<std::uint64_t>(last) + 1));
    chosen.insert(chosen.contains(candidate) ? last : candidate);
  }
  std::set<int> peers;
  for (const int one : chosen) peers.insert(one < worker ? one : one + 1);
  return peers;
}

class Epidemic final : public MixingSchedule {
 public:
  Epidemic(int workers, int peers, Stochastic form)
      : workers_(workers), peers_(peers), form_(form) {}

  MixingMatrix matrix(std::int64_t exchange, std::uint64_t seed) const override {
    Stream stream(seed, static_cast<std::uint64_t>(exchange));
    MixingMatrix matrix;
    matrix.self.assign(at(workers_), 1.0 / (1 + peers_));
    matrix.neighbours.resize(at(workers_));
    const auto send = [&](int from, int to) {
      matrix.neighbours[at(to)].push_back({from, 1.0 / (1 + peers_)});
    };
    if (form_ == Stochastic::doubly) {
      for (const Edge& edge : regular_edges(workers_, peers_, stream)) {
        send(edge.i, edge.j);
        send(edge.j, edge.i);
      }
      for (auto& row : matrix.neighbours) std::ranges::sort(row, {}, &Neighbour::worker);
      return matrix;
    }
    for (int i = 0; i < workers_; ++i)  // ascending, and so are each worker's senders
      for (const int to : drawn_peers(i, workers_, peers_, stream)) send(i, to);
    if (form_ == Stochastic::rows)
      for (std::size_t i = 0; i < matrix.self.size(); ++i) {
        matrix.self[i] = 1.0 / static_cast<double>(1 + matrix.neighbours[i].size());
        for (Neighbour& heard : matrix.neighbours[i]) heard.weight = matrix.self[i];
      }
    return matrix;
  }
  Stochastic stochastic() const override { return form_; }

 private:
  const int workers_, peers_;
  const Stochastic form_;
};

Topology make_epidemic(int workers, const nlohmann::json& options) {
  const int peers =
      static_cast<int>(std::min<std::int64_t>(integer(options, "peers"), workers - 1));
  const std::string form = text(options, "form");
  if (form == "oracle" && peers * workers % 2 != 0)
    throw UsageError(
        fmt::format("topology 'epidemic': no graph gives each of {} workers {} peers; use an even "
                    "number of either, or form = \"local\"",
                    workers, peers));
  const Stochastic stochastic = form == "local"  ? Stochastic::rows
                                : form == "push" ? Stochastic::columns
                                                 : Stochastic::doubly;
  return Topology::complete(workers).on_schedule(
      "epidemic", std::make_shared<const Epidemic>(workers, peers, stochastic));
}

}  // namespace

/// Epidemic learning (de Vos et al. 2023, 2310.01972): EL-Oracle and EL-Local; "push" is EL-Local
/// with the weights of push-sum. Peers × n messages per exchange.
const TopologyEntry epidemic_topology{"epidemic",
                                      "a few random peers, drawn anew for every exchange",
                                      kEpidemicFields, &make_epidemic};

}  // namespace acid
