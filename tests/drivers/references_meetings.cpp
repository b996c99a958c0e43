// Methods of drawn pairs: the meetings are read from the log of events, every number is computed
// again.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/error.hpp"
#include "tests/drivers/references.hpp"

namespace acid::test::references {
namespace {

/// A method's effect on worker w; x is its model. Times are normalised.
class Meetings {
 public:
  explicit Meetings(const Logged& log) : log_(log), momenta_(log.events.size()) {
    for (int w = 0; w < log.workers; ++w) x.push_back(log.task.start(w));
    for (Vector& m : momenta_) m.resize(log.task.dimension(), 0.0);
  }
  virtual ~Meetings() = default;

  virtual void drift(std::size_t, double /*elapsed*/) {}
  virtual void step(std::size_t w, const Vector& by) { x[w] -= by; }
  virtual Vector offer(std::size_t w) { return x[w]; }
  /// `late`: how long the offers have been under way.
  virtual void hear(std::size_t w, const Vector& own, const Vector& theirs, double late) = 0;

  Trajectory play();
  std::vector<Vector> x;

 protected:
  double number(const char* key) const { return log_.number(key); }
  const Logged& log_;

 private:
  struct Offer {
    Vector said;
    double time;
  };
  bool play_next(std::size_t w);
  void go_to(std::size_t w, double time);
  void commit(std::size_t w);
  std::size_t partner(std::size_t w, std::uint64_t exchange) const;
  const Event* next(std::size_t w) const;

  std::vector<Vector> momenta_;
  std::vector<std::size_t> at_;  // events that have been played
  std::vector<double> last_;
  std::vector<std::vector<double>> rates_;
  std::vector<std::int64_t> taken_;
  std::map<std::uint64_t, std::pair<std::size_t, std::size_t>> pairs_;
  std::map<std::pair<std::uint64_t, std::size_t>, Offer> offers_;
  Trajectory noted_;
};

const Event* Meetings::next(std::size_t w) const {
  const std::vector<Event>& events = log_.events[w];
  return at_[w] < events.size() ? &events[at_[w]] : nullptr;
}

std::size_t Meetings::partner(std::size_t w, std::uint64_t exchange) const {
  const auto [i, j] = pairs_.at(exchange);
  return w == i ? j : i;
}

void Meetings::go_to(std::size_t w, double time) {
  if (time > last_[w]) drift(w, time - std::exchange(last_[w], time));
}

void Meetings::commit(std::size_t w) {
  const auto k = static_cast<std::size_t>(taken_[w]);
  const Vector g = log_.task.gradient(static_cast<int>(w), taken_[w]++, noted_.points[w][k]);
  momenta_[w] = log_.momentum * momenta_[w] + g;
  step(w, rates_[w][k] * momenta_[w]);
}

// Returns false if the worker waits for its partner.
bool Meetings::play_next(std::size_t w) {
  const Event* const event = next(w);
  if (event == nullptr) return false;
  const std::uint64_t number = event->exchange;
  if (event->kind == EventKind::exchange) {
    const std::size_t other = partner(w, number);
    const Event* const theirs = next(other);
    if (theirs == nullptr || theirs->kind != EventKind::exchange || theirs->exchange != number)
      return false;
    ++at_[other];
    go_to(w, event->time);
    go_to(other, event->time);
    const Vector said = offer(w), heard = offer(other);
    hear(w, said, heard, 0);
    hear(other, heard, said, 0);
  } else if (event->kind == EventKind::apply) {
    const auto heard = offers_.find({number, partner(w, number)});
    if (heard == offers_.end()) return false;
    const Offer& own = offers_.at({number, w});
    go_to(w, event->time);
    hear(w, own.said, heard->second.said, event->time - own.time);
  } else if (!is_mark(event->kind)) {
    go_to(w, event->time);
    if (event->kind == EventKind::offer) offers_[{number, w}] = {offer(w), event->time};
    if (is_commit(event->kind)) commit(w);
    if (event->kind == EventKind::begin_gradient || event->kind == EventKind::commit_and_begin)
      noted_.points[w].push_back(x[w]);
  }
  ++at_[w];
  return true;
}

Trajectory Meetings::play() {
  const std::size_t n = x.size();
  at_.assign(n, 0);
  last_.assign(n, 0);
  taken_.assign(n, 0);
  noted_.points.resize(n);
  for (std::size_t w = 0; w < n; ++w)
    for (const Event& event : log_.events[w])
      if (event.kind == EventKind::exchange || event.kind == EventKind::offer) {
        const auto [pair, is_new] = pairs_.try_emplace(event.exchange, w, w);
        if (!is_new) pair->second.second = w;
      }
  rates_ = log_.rates([](const Event& event) { return is_commit(event.kind); });
  double end = log_.end;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t w = 0; w < n; ++w)
      while (play_next(w)) moved = true;
  }
  for (std::size_t w = 0; w < n; ++w) {
    ACID_ASSERT(next(w) == nullptr, "worker {} waits for its partner at event {}", w, at_[w]);
    end = std::max(end, last_[w]);
  }
  noted_.mean.resize(log_.task.dimension(), 0.0);
  for (std::size_t w = 0; w < n; ++w) {
    go_to(w, end);
    noted_.points[w].resize(static_cast<std::size_t>(taken_[w]));  // those only begun are not there
    noted_.models.push_back(x[w]);
    noted_.mean += x[w] / static_cast<double>(n);
  }
  return noted_;
}

// Lian et al. 2018, 1710.06952, Algorithm 1: both partners go to their average, and gradients are
// of models that may be stale. α = ½ there.
class AdPsgd : public Meetings {
 public:
  AdPsgd(const Logged& log, double alpha) : Meetings(log), alpha_(alpha) {}
  void hear(std::size_t w, const Vector& own, const Vector& theirs, double) override {
    x[w] -= alpha_ * (own - theirs);
  }

 private:
  const double alpha_;
};

Trajectory ad_psgd(const Logged& log) { return AdPsgd(log, log.number("alpha")).play(); }

// Nadiradze et al. 2019, 1910.12308, with a geometric number of local steps: the same.
Trajectory swarm(const Logged& log) { return AdPsgd(log, 0.5).play(); }

// Nabli et al. 2023, 2306.08289, eq. 4 and Algorithm 1: between events (x, y) follows
// d(x, y) = η (y − x, x − y) dt, whose flow is exp; a gradient moves both by −γ u; an exchange
// m = xᵢ − xⱼ moves x by −α m and y by −β m, with η = 1 / (2 √(χ₁ χ₂)) and β = ½ √(χ₁ / χ₂). What
// is heard late is that, brought to now by the flow.
class A2cid2 : public Meetings {
 public:
  explicit A2cid2(const Logged& log) : Meetings(log), copies_(x) {
    const auto given = [&](const char* key, double otherwise) {
      const auto found = log.options.find(key);
      return found == log.options.end() || found->is_null() ? otherwise : log.number(key);
    };
    eta_ = given("eta", 1 / (2 * std::sqrt(log.chi1 * log.chi2)));
    alpha_tilde_ = given("alpha_tilde", std::sqrt(log.chi1 / log.chi2) / 2);
  }
  void drift(std::size_t w, double elapsed) override { flow(x[w], copies_[w], elapsed); }
  void step(std::size_t w, const Vector& by) override {
    x[w] -= by;
    copies_[w] -= by;
  }
  void hear(std::size_t w, const Vector& own, const Vector& theirs, double late) override {
    Vector change = number("alpha") * (theirs - own), of_copy = alpha_tilde_ * (theirs - own);
    flow(change, of_copy, late);
    x[w] += change;
    copies_[w] += of_copy;
  }

 private:
  // The sum stays, and the difference fades as e^(−2ηt).
  void flow(Vector& a, Vector& b, double time) const {
    const Vector sum = a + b, difference = std::exp(-2 * eta_ * time) * (a - b);
    a = 0.5 * (sum + difference);
    b = 0.5 * (sum - difference);
  }
  double eta_ = 0, alpha_tilde_ = 0;
  std::vector<Vector> copies_;
};

Trajectory a2cid2(const Logged& log) { return A2cid2(log).play(); }

// Nadiradze et al. 2019, Algorithm 2: partners exchange the models s before their local steps h,
// and x ← ½ (s + s') − h. Both take in their steps.
class SwarmNonblocking : public Meetings {
 public:
  explicit SwarmNonblocking(const Logged& log) : Meetings(log), published_(x) {}
  Vector offer(std::size_t w) override { return published_[w]; }
  void hear(std::size_t w, const Vector& own, const Vector& theirs, double) override {
    const Vector h = own - x[w];
    x[w] = 0.5 * (own + theirs) - h;
    published_[w] = x[w];
  }

 private:
  std::vector<Vector> published_;
};

Trajectory swarm_nonblocking(const Logged& log) { return SwarmNonblocking(log).play(); }

}  // namespace

std::vector<Reference> with_meetings() {
  const std::vector<nlohmann::json> graphs = {kRing, kIrregular};
  const std::vector<Variant> of_steps = {
      {},
      {.options = {{"steps", 0.5}}, .momentum = 0.9, .spread = 1, .slow_factors = {1, 3}},
      {.options = {{"steps", 1}}, .late = false}};
  return {
      {.method = "ad-psgd",
       .logged = &ad_psgd,
       .variants = {{},
                    {.options = {{"communication_rate", 2.0}, {"alpha", 0.3}},
                     .momentum = 0.9,
                     .spread = 1,
                     .slow_factors = {1, 3}},
                    {.late = false}},
       .graphs = graphs},
      {.method = "a2cid2",
       .logged = &a2cid2,
       .variants = {{},
                    {.options = {{"communication_rate", 2.0},
                                 {"alpha", 0.4},
                                 {"eta", 0.3},
                                 {"alpha_tilde", 0.9}},
                     .momentum = 0.9,
                     .spread = 1,
                     .slow_factors = {1, 3}},
                    {.late = false}},
       .graphs = graphs},
      {.method = "swarm-sgd", .logged = &swarm, .variants = of_steps, .graphs = graphs},
      {.method = "swarm-sgd-nonblocking",
       .logged = &swarm_nonblocking,
       .variants = of_steps,
       .graphs = graphs},
  };
}

}  // namespace acid::test::references
