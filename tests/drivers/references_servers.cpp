// Methods with a server: the order of arrivals is read from the log of events, every number is
// computed again.
#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/error.hpp"
#include "tests/drivers/references.hpp"

namespace acid::test::references {
namespace {

/// A server's answer to the message of worker w, whose last gradient had the rate γ.
using Serve = std::function<Vector(std::size_t w, const Vector& said, double rate)>;

/// The steps of worker w of a log between two replies, which are its model then.
class Walker {
 public:
  Walker(const Logged& log, std::size_t w, const std::vector<double>& rates,
         std::vector<Vector>& points)
      : log_(log), w_(w), rates_(rates), points_(points), x_(log.task.start(static_cast<int>(w))) {
    reply(x_);
    momentum_.resize(x_.size(), 0.0);
  }
  Vector gradient() {
    points_.push_back(x_);
    return log_.task.gradient(static_cast<int>(w_), taken_++, x_);
  }
  /// Takes SGD's steps until it says a message. Returns how many.
  std::int64_t steps() {
    std::int64_t count = 0;
    for (; at_ < log_.events[w_].size(); ++at_) {
      const EventKind kind = log_.events[w_][at_].kind;
      if (kind == EventKind::offer) break;
      if (!is_commit(kind)) continue;
      momentum_ = log_.momentum * momentum_ + gradient();
      x_ -= rate() * momentum_;
      ++count;
    }
    ++at_;
    return count;
  }
  double rate() const { return rates_.at(static_cast<std::size_t>(taken_ - 1)); }
  Vector moved_by() const { return phi_ - x_; }
  void reply(const Vector& x) { x_ = phi_ = x; }
  const Vector& x() const { return x_; }

 private:
  const Logged& log_;
  const std::size_t w_;
  const std::vector<double>& rates_;
  std::vector<Vector>& points_;
  Vector x_, phi_, momentum_;
  std::int64_t taken_ = 0;
  std::size_t at_ = 0;
};

/// Workers in the order in which their messages arrived.
std::vector<std::size_t> arrivals(const Logged& log) {
  std::map<std::uint64_t, std::size_t> by_number;
  for (std::size_t w = 0; w < log.events.size(); ++w)
    for (const Event& event : log.events[w])
      if (event.kind == EventKind::apply) by_number[event.exchange] = w;
  std::vector<std::size_t> order;
  for (const auto& [number, w] : by_number) order.push_back(w);
  ACID_ASSERT(by_number.rbegin()->first == order.size(), "{} arrivals, the last is {}",
              order.size(), by_number.rbegin()->first);
  return order;
}

/// `steps` between two messages of a worker; 0: its message is the gradient.
Trajectory play(const Logged& log, const std::function<std::int64_t(std::size_t w)>& steps,
                const Serve& serve) {
  const bool says_gradients = steps(0) == 0;
  const auto rates = log.rates([&](const Event& event) {
    return says_gradients ? event.kind == EventKind::offer : is_commit(event.kind);
  });
  Trajectory noted;
  noted.points.resize(log.events.size());
  std::vector<Walker> walkers;
  for (std::size_t w = 0; w < log.events.size(); ++w)
    walkers.emplace_back(log, w, rates[w], noted.points[w]);
  for (const std::size_t w : arrivals(log)) {
    Walker& walker = walkers[w];
    const std::int64_t taken = says_gradients ? 0 : walker.steps();
    ACID_ASSERT(taken == steps(w), "worker {} took {} steps, not {}", w, taken, steps(w));
    const Vector said = says_gradients ? walker.gradient() : walker.moved_by();
    walker.reply(serve(w, said, walker.rate()));
  }
  for (Walker& walker : walkers) {
    if (!says_gradients) walker.steps();
    noted.models.push_back(walker.x());
  }
  return noted;
}

// Lian et al. 2015, 1506.08272, Algorithm 1: the server steps by every gradient as it arrives; and
// Zhang et al. 2015, 1511.05950, eq. 7: by γ / τ where its staleness τ is above 1.
Trajectory a_psgd(const Logged& log) {
  const bool aware = log.number("staleness_aware") != 0;
  Vector x = log.task.start(0);
  std::int64_t heard = 0;
  std::vector<std::int64_t> heard_at(log.events.size());  // when each had its last reply
  Trajectory noted = play(
      log, [](std::size_t) { return 0; },
      [&](std::size_t w, const Vector& g, double rate) {
        const auto stale = static_cast<double>(heard - heard_at[w]);
        heard_at[w] = ++heard;
        x -= (aware ? rate / std::max(1.0, stale) : rate) * g;
        return x;
      });
  noted.mean = x;
  return noted;
}

/// Liu et al. 2024, 2401.09135, Algorithm 3, delayed Nesterov: in arrival t δ ← δ + Δ; where N
/// divides t, m ← β m + δ / N, x ← x − ε ((1 − cN + c) β m + Δ / N) and δ ← 0, else
/// x ← x − ε (c β m + Δ / N).
struct DelayedNesterov {
  Vector x, m = Vector(0.0, x.size()), delta = m;
  std::int64_t arrivals = 0;
  void take(const Vector& update, double period, double epsilon, double beta, double c) {
    delta += update;
    const bool due = ++arrivals % std::llround(period) == 0;
    if (due) m = beta * m + delta / period;
    x -= epsilon * ((due ? 1 - c * period + c : c) * beta * m + update / period);
    if (due) delta = 0;
  }
};

// Ibid., Algorithms 1 and 2; with DyLU (section 5) a worker takes steps in proportion to its speed.
Trajectory async_diloco(const Logged& log) {
  const auto steps = [&](std::size_t w) {
    const auto& slow = log.slow_factors;
    const double speed = log.number("dylu") == 0 ? 1 : std::ranges::min(slow) / slow[w];
    return std::max<std::int64_t>(1, std::llround(log.number("steps") * speed));
  };
  DelayedNesterov server{log.task.start(0)};
  Trajectory noted = play(log, steps, [&](std::size_t, const Vector& moved_by, double) {
    server.take(moved_by, log.number("period"), log.number("eta"), log.number("beta"),
                log.number("c"));
    return server.x;
  });
  noted.mean = server.x;
  return noted;
}

// HALoS, openreview:LMPJnZSNC8, Algorithms 1 and 2: hubs and the server above them take in messages
// by delayed Nesterov with c = 0, whose ε is η N; after K arrivals a hub sends its progress since
// it was last merged, and x ← (1 − α) x + α x_server. Visits take no time in these runs.
Trajectory halos(const Logged& log) {
  const auto count = static_cast<std::size_t>(std::llround(log.number("hubs")));
  std::vector<DelayedNesterov> hubs(count, DelayedNesterov{log.task.start(0)});
  std::vector<Vector> merged(count, log.task.start(0));
  DelayedNesterov above{log.task.start(0)};
  const auto steps = [&](std::size_t) { return std::llround(log.number("steps")); };
  Trajectory noted = play(log, steps, [&](std::size_t w, const Vector& moved_by, double) {
    const std::size_t h = w * count / log.events.size();
    DelayedNesterov& hub = hubs[h];
    const double period_hub = log.number("period_hub"), period = log.number("period");
    hub.take(moved_by, period_hub, log.number("eta_hub") * period_hub, log.number("beta_hub"), 0);
    const Vector reply = hub.x;
    if (hub.arrivals % std::llround(log.number("every")) == 0) {
      above.take(merged[h] - hub.x, period, log.number("eta") * period, log.number("beta"), 0);
      hub.x += log.number("alpha") * (above.x - hub.x);
      merged[h] = hub.x;
    }
    return reply;
  });
  noted.mean = above.x;
  return noted;
}

}  // namespace

std::vector<Reference> with_servers() {
  const std::vector<nlohmann::json> one = {kIrregular};
  return {
      {.method = "a-psgd",
       .logged = &a_psgd,
       .variants = {{}, {.options = {{"staleness_aware", 1}}, .slow_factors = {1, 3}}},
       .graphs = one},
      {.method = "async-diloco",
       .logged = &async_diloco,
       .variants = {{},
                    {.options = {{"steps", 4},
                                 {"dylu", 1},
                                 {"period", 3},
                                 {"eta", 0.3},
                                 {"beta", 0.6},
                                 {"c", 0.2}},
                     .momentum = 0.9,
                     .slow_factors = {1, 2, 1, 4}}},
       .graphs = one},
      {.method = "halos",
       .logged = &halos,
       .variants = {{},
                    {.options = {{"steps", 2},
                                 {"hubs", 2},
                                 {"period_hub", 3},
                                 {"eta_hub", 0.4},
                                 {"beta_hub", 0.6},
                                 {"every", 4},
                                 {"alpha", 0.4},
                                 {"period", 3},
                                 {"eta", 0.5},
                                 {"beta", 0.3}},
                     .momentum = 0.9,
                     .slow_factors = {1, 2}}},
       .graphs = one},
  };
}

}  // namespace acid::test::references
