#include "tests/language/life.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/methods/listed.hpp"
#include "engine/topology/spectral.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/worker.hpp"
#include "tests/catch.hpp"
#include "tests/language/random_pass.hpp"

namespace acid::test {
namespace {

using nlohmann::json;
using Vector = std::vector<float>;

/// One worker of a method. Its arguments are in its backend's memory.
class Life {
 public:
  Life(const Method& method, const OptimizerSettings& optimizer, const Vector& start,
       const Backend& backend)
      : method_(method) {
    const std::size_t size = start.size();
    settings_.dimension = size;
    settings_.backend = &backend;
    settings_.optimizer = optimizer;
    settings_.decay = {{0, size / 3, 0.01}, {size / 3, size, 0}};
    settings_.degrees = {2, 2, 2};
    settings_.follow(method.rules);
    memory_ = std::make_unique<WorkerMemory<float>>(settings_, 1);
    worker_ = std::make_unique<Worker>(settings_, *memory_);
    worker_->start(start);
    worker_->begin_gradient(0);
  }

  Vector step(double t, const Vector& gradient) {
    std::ranges::copy(gradient, worker_->gradient().begin());
    worker_->commit_gradient(t, worker_->gradient(), 0.1, method_.has_meetings());
    if (!method_.has_meetings()) worker_->begin_gradient(t);
    return state();
  }
  Vector say(double t) {
    Arena<float> out(method_.message().floats(settings_.dimension), settings_.backend->messages());
    worker_->offer(t, out.span());
    return {out.span().begin(), out.span().end()};
  }
  // Meetings take two messages; rounds take all messages, or their mean.
  Vector hear(double t, const std::vector<Vector>& messages, bool mean_is_given) {
    const auto placed = place(messages);
    if (method_.has_meetings()) {
      worker_->apply(t, t - 0.25, placed[0].span(), placed[1].span());
      return state();
    }
    const auto sources = weighted(placed);
    Heard<float> heard{.sources = sources};
    if (mean_is_given) heard = {.mean = placed[0].data(), .own = placed[1].data()};
    worker_->hear(t, heard);
    return state();
  }
  // With messages, a meeting is pending that was not applied yet.
  Vector read(double t, std::size_t first, std::size_t size,
              const std::vector<Vector>& messages) const {
    Vector out(size);
    const auto placed = place(messages);
    const auto sources = weighted(placed);
    const Heard<float> pending{.sources = sources, .late = 0.25};
    worker_->read_at(t, first, out, messages.empty() ? nullptr : &pending);
    return out;
  }

 private:
  std::vector<Arena<float>> place(const std::vector<Vector>& messages) const {
    std::vector<Arena<float>> placed;
    for (const Vector& one : messages) {
      placed.emplace_back(one.size(), settings_.backend->messages());
      std::ranges::copy(one, placed.back().span().begin());
    }
    return placed;
  }
  static std::vector<kernels::Weighted<float>> weighted(const std::vector<Arena<float>>& placed) {
    std::vector<kernels::Weighted<float>> sources;
    for (const Arena<float>& one : placed)
      sources.push_back({one.data(), 1.0 / static_cast<double>(placed.size())});
    return sources;
  }
  Vector state() const {
    Vector all;
    worker_->for_each_vector([&]<class T>(std::string_view, std::span<T> one) {
      all.insert(all.end(), one.begin(), one.end());
    });
    return all;
  }

  const Method& method_;
  WorkerSettings settings_;
  std::unique_ptr<WorkerMemory<float>> memory_;
  std::unique_ptr<Worker> worker_;
};

Vector normal_floats(Stream& random, std::size_t size) {
  Vector out(size);
  for (float& one : out) one = static_cast<float>(random.normal());
  return out;
}

}  // namespace

Lives live(const Method& method, const OptimizerSettings& optimizer, std::size_t size,
           const Backend& backend) {
  Lives left;
  const auto note = [&](std::string_view what, Vector values) {
    left.push_back({fmt::format("{} of {}, {} elements, optimiser {}", what, method.kind, size,
                                static_cast<int>(optimizer.kind)),
                    std::move(values)});
  };
  Stream random(size);
  Life life(method, optimizer, normal_floats(random, size), backend);
  for (int round = 0; round < 4; ++round) {
    const double t = round;
    note("a step", life.step(t + 0.25, normal_floats(random, size)));
    const Vector own = life.say(t + 0.5);
    note("a message", own);
    std::vector<Vector> messages{own};
    const bool of_two = method.has_meetings() || method.has_server();
    const std::size_t others = of_two || round == 0 ? 1 : random.below(10);
    for (std::size_t k = 0; k < others; ++k) {
      messages.push_back(normal_floats(random, own.size()));
      // Numbers in a message are doubles.
      const auto numbers = static_cast<std::ptrdiff_t>(method.message().vectors * size);
      std::copy(own.begin() + numbers, own.end(), messages.back().begin() + numbers);
    }
    const bool mean = round == 0 && !method.has_server() && method.message().scalars == 0;
    note("what was heard", life.hear(t + 0.75, messages, mean));
    if (!method.has_meetings()) messages.clear();
    const Vector whole = life.read(t + 1, 0, size, messages);
    note("reading", whole);
    const std::size_t first = random.below(size), count = 1 + random.below(size - first);
    note("reading a part", life.read(t + 1, first, count, messages));
    note("the same part", {whole.data() + first, whole.data() + first + count});
  }
  return left;
}

Lives live(const Listing& listing, const std::vector<std::size_t>& sizes, const Backend& backend) {
  const AlgorithmEntry& entry = listed_entry(listing);
  const Spectral nominal{.chi1 = 2, .chi2 = 0.5};
  const Method method = entry.make(with_fallbacks(entry.fields, json::object()), &nominal);
  std::vector<OptimizerSettings> optimizers(5);
  optimizers[1].momentum = optimizers[2].momentum = 0.9;
  optimizers[2].nesterov = true;
  optimizers[3].kind = OptimizerKind::adam;
  optimizers[4].kind = OptimizerKind::adamw;
  if (entry.optimizers != Optimizers::any) {
    optimizers.resize(2);  // their models shrink before their own step
    optimizers[1] = {.kind = OptimizerKind::adamw, .weight_decay = 0.01};
  }
  Lives left;
  for (const OptimizerSettings& optimizer : optimizers)
    for (const std::size_t size : sizes)
      for (Left& one : live(method, optimizer, size, backend)) left.push_back(std::move(one));
  if (!method.server) return left;
  Method server = method;
  server.rules = *method.server;
  for (const std::size_t size : sizes)
    for (Left& one : live(server, {}, size, backend)) left.push_back(std::move(one));
  return left;
}

Vector say(const Method& method, const Vector& start, const Backend& backend) {
  return Life(method, {}, start, backend).say(1);
}

Vector read_after_a_step(const Method& method, const Vector& start, const Backend& backend) {
  Life life(method, {}, start, backend);
  life.step(1, Vector(start.size(), 10));
  return life.read(1, 0, start.size(), {});
}

void check_same(const Lives& lives, const Lives& expected) {
  REQUIRE(lives.size() == expected.size());
  for (std::size_t event = 0; event < lives.size(); ++event) {
    const Vector &a = lives[event].values, &b = expected[event].values;
    REQUIRE(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k)
      if (!is_same(a[k], b[k]))
        FAIL("what is left of " << lives[event].what << ": element " << k << " is " << a[k]
                                << ", not " << b[k]);
    if (lives[event].what.starts_with("the same part"))
      if (!std::ranges::equal(a, lives[event - 1].values, is_same))
        FAIL("a part is not read as the whole: " << lives[event].what);
  }
}

Listing checked(const json& table) {
  std::vector<Finding> findings;
  const auto listing = read_listing(table, findings);
  for (const Finding& one : findings) UNSCOPED_INFO(one.path << ": " << one.message);
  REQUIRE(listing.has_value());
  return *listing;
}

Listing listing_with_reductions() {
  return checked({{"name", "clipped"},
                  {"keep", {{"old", 0}, {"seen", "x"}}},
                  {"scalars", {{"size", 0}}},
                  {"step",
                   {"size = norm(g + old) + sum(abs(x))", "old = g if size > 3",
                    "x = x - lr * where(g > old, g, sign(g)) * min(1, 1 / size)"}},
                  {"send", {"x", "max(seen, x)"}},
                  {"hear",
                   {"size = dot(mean(0), mean(1))", "x = mean(0)",
                    "seen = min(mean(1), mine(1)) / (1 + abs(size))"}}});
}

std::vector<Listing> shipped_listings() {
  std::vector<Listing> listings;
  for (const ListingText& shipped : listing_texts())
    listings.push_back(checked(json_of_toml(shipped.text)));
  return listings;
}

}  // namespace acid::test
