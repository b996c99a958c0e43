// What workers do by emitted code and by the interpreter is the same, to the bit.
#include <nlohmann/json.hpp>

#include "engine/language/emitter.hpp"
#include "engine/methods/listed.hpp"
#include "engine/topology/spectral.hpp"
#include "engine/worker/worker.hpp"
#include "tests/catch.hpp"
#include "tests/language/random_pass.hpp"

using namespace acid;
using namespace acid::test;
using nlohmann::json;

namespace {

using Vector = std::vector<float>;

/// One worker of a listing's method, which lives through the same events as another.
class Life {
 public:
  Life(const Method& method, const OptimizerSettings& optimizer, std::size_t size,
       const Backend& backend, const Vector& start)
      : method_(method) {
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
    worker_->commit_gradient(t, gradient, 0.1, method_.has_meetings());
    if (!method_.has_meetings()) worker_->begin_gradient(t);
    return state();
  }
  Vector say(double t) {
    Arena<float> out(method_.message().floats(settings_.dimension));
    worker_->offer(t, out.span());
    return {out.span().begin(), out.span().end()};
  }
  // Meetings take two messages; rounds as many as there are, or their mean.
  Vector hear(double t, const std::vector<Vector>& messages, bool mean_is_given) {
    if (method_.has_meetings()) {
      worker_->apply(t, t - 0.25, messages[0], messages[1]);
      return state();
    }
    std::vector<kernels::Weighted<float>> sources;
    for (const Vector& one : messages)
      sources.push_back({one.data(), 1.0 / static_cast<double>(messages.size())});
    Heard<float> heard{.sources = sources};
    if (mean_is_given) heard = {.mean = messages[0].data(), .own = messages[1].data()};
    worker_->hear(t, heard);
    return state();
  }
  // With a meeting that has not been heard yet, where there are messages.
  Vector read(double t, std::size_t first, std::size_t size,
              const std::vector<Vector>& messages = {}) const {
    Vector out(size);
    std::vector<kernels::Weighted<float>> sources;
    for (const Vector& one : messages) sources.push_back({one.data(), 0.5});
    const Heard<float> pending{.sources = sources, .late = 0.25};
    worker_->read_at(t, first, out, messages.empty() ? nullptr : &pending);
    return out;
  }

 private:
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

void check_same(const Vector& a, const Vector& b, const char* what) {
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!is_same(a[k], b[k]))
      FAIL("what is left of " << what << " differs in element " << k << " of " << a.size() << ": "
                              << a[k] << ", " << b[k]);
}

void live_through(const Method& method, const OptimizerSettings& optimizer, std::size_t size) {
  INFO(size << " elements, optimiser " << static_cast<int>(optimizer.kind));
  Stream random(size);
  const Vector start = normal_floats(random, size);
  Life emitted(method, optimizer, size, *cpu_backend("avx2"), start);
  Life plain(method, optimizer, size, *cpu_backend("baseline"), start);
  for (int round = 0; round < 4; ++round) {
    const double t = round;
    const Vector gradient = normal_floats(random, size);
    check_same(emitted.step(t + 0.25, gradient), plain.step(t + 0.25, gradient), "a step");
    const Vector own = emitted.say(t + 0.5);
    check_same(own, plain.say(t + 0.5), "a message");
    std::vector<Vector> messages{own};
    const std::size_t others = method.has_meetings() || round == 0 ? 1 : random.below(10);
    for (std::size_t k = 0; k < others; ++k) {
      messages.push_back(normal_floats(random, own.size()));
      // The numbers of a message are doubles.
      const auto numbers = static_cast<std::ptrdiff_t>(method.message().vectors * size);
      std::copy(own.begin() + numbers, own.end(), messages.back().begin() + numbers);
    }
    const bool mean = round == 0 && method.message().scalars == 0;
    check_same(emitted.hear(t + 0.75, messages, mean), plain.hear(t + 0.75, messages, mean),
               "what was heard");
    const std::size_t first = random.below(size), count = 1 + random.below(size - first);
    if (!method.has_meetings()) messages.clear();
    const Vector part = emitted.read(t + 1, first, count, messages);
    check_same(part, plain.read(t + 1, first, count, messages), "reading");
    const Vector whole = emitted.read(t + 1, 0, size, messages);
    check_same(part, {whole.data() + first, whole.data() + first + count}, "reading a part");
  }
}

void live_through(const Listing& listing, const std::vector<std::size_t>& sizes) {
  const AlgorithmEntry& entry = listed_entry(listing);
  const Spectral nominal{.chi1 = 2, .chi2 = 0.5};
  const Method method = entry.make(with_fallbacks(entry.fields, json::object()), &nominal);
  std::vector<OptimizerSettings> optimizers(5);
  optimizers[1].momentum = optimizers[2].momentum = 0.9;
  optimizers[2].nesterov = true;
  optimizers[3].kind = OptimizerKind::adam;
  optimizers[4].kind = OptimizerKind::adamw;
  if (entry.optimizers != Optimizers::any) optimizers.resize(1);
  for (const OptimizerSettings& optimizer : optimizers)
    for (const std::size_t size : sizes) live_through(method, optimizer, size);
}

Listing checked(const json& table) {
  std::vector<Finding> findings;
  const auto listing = read_listing(table, findings);
  for (const Finding& one : findings) UNSCOPED_INFO(one.path << ": " << one.message);
  REQUIRE(listing.has_value());
  return *listing;
}

bool can_compare() {
  return cpu_backend("avx2") != nullptr && why_interpreted(*cpu_backend("avx2")).empty();
}

}  // namespace

TEST_CASE("all parts of the listings that are shipped are the same, emitted and interpreted") {
  if (!can_compare()) return;
  std::vector<std::size_t> sizes{255, 256, 257, 1023, 1024, 1025};
  for (std::size_t size = 1; size <= 40; ++size) sizes.push_back(size);
  for (const ListingText& shipped : listing_texts()) {
    INFO(shipped.name);
    live_through(checked(json_of_toml(shipped.text)), sizes);
  }
}

TEST_CASE("reductions and conditions are the same, emitted and interpreted") {
  if (!can_compare()) return;
  live_through(checked({{"name", "clipped"},
                        {"round", "gradient step say hear"},
                        {"keep", {{"old", 0}, {"seen", "x"}}},
                        {"scalars", {{"size", 0}}},
                        {"step",
                         {"size = norm(g + old) + sum(abs(x))", "old = g if size > 3",
                          "x = x - lr * where(g > old, g, sign(g)) * min(1, 1 / size)"}},
                        {"send", {"x", "max(seen, x)"}},
                        {"hear",
                         {"size = dot(mean(0), mean(1))", "x = mean(0)",
                          "seen = min(mean(1), mine(1)) / (1 + abs(size))"}}}),
               {1, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 2049, 3000});
}

TEST_CASE("messages so long that they are written past the caches are the same") {
  if (!can_compare()) return;
  constexpr std::size_t kSize = (std::size_t{8} << 20) / sizeof(float) + 8;
  const Arena<float> place(kSize);
  CHECK(EmittedPass::streams(place.data(), kSize));
  CHECK_FALSE(EmittedPass::streams(place.data() + 1, kSize));
  CHECK_FALSE(EmittedPass::streams(place.data(), kSize - 1));
  const AlgorithmEntry& entry = listed_entry(checked({{"name", "says-more"},
                                                      {"keep", {{"y", "x"}}},
                                                      {"send", {"x * 3 - y", "y / 3"}},
                                                      {"hear", "x = mean(0) + mean(1)"}}));
  const Method method = entry.make(with_fallbacks(entry.fields, json::object()), nullptr);
  for (const std::size_t size : {kSize, kSize - 3}) {
    Vector start(size);
    for (std::size_t k = 0; k < size; ++k) start[k] = static_cast<float>(k % 1013);
    check_same(Life(method, {}, size, *cpu_backend("avx2"), start).say(1),
               Life(method, {}, size, *cpu_backend("baseline"), start).say(1), "a message");
  }
}

TEST_CASE("where the last gradient was taken is kept before the next point takes its place") {
  for (const char* const kernels : {"baseline", "avx2"}) {
    if (cpu_backend(kernels) == nullptr) continue;
    const AlgorithmEntry& entry =
        listed_entry(checked({{"name", "keeps-points"},
                              {"rate", 1.0},
                              {"keep", {{"p", 0}}},
                              {"step", {"p = at", "x = x - lr * u"}},
                              {"hear", "x = x - 0.5 * (mine(0) - theirs(0))"},
                              {"model", "p"}}));
    const Method method = entry.make(with_fallbacks(entry.fields, json::object()), nullptr);
    Life life(method, {}, 3, *cpu_backend(kernels), {1, 2, 3});
    life.step(1, {10, 10, 10});
    check_same(life.read(1, 0, 3), {1, 2, 3}, "a step");
  }
}
