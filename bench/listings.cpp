// Measures methods, as workers execute their listings, against hand-written loops with the
// same traffic, and against the interpreter.
#include <fmt/format.h>

#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/commands.hpp"
#include "bench/options.hpp"
#include "bench/repeat.hpp"
#include "engine/language/emitter.hpp"
#include "engine/methods/listed.hpp"
#include "engine/worker/worker.hpp"

// Emitted code may use AVX2, too.
#if defined(__x86_64__)
#define ACID_BENCH_AVX2 __attribute__((target("avx2")))
#else
#define ACID_BENCH_AVX2
#endif

namespace acid::bench {
namespace {

using nlohmann::json;

constexpr float kRate = 1e-4f, kMomentum = 0.9f, kDecay = 5e-4f, kMixing = 1e-4f;

ACID_BENCH_AVX2
void momentum_loop(float* __restrict x, float* __restrict m, const float* __restrict g,
                   std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    const float u = g[k] + kDecay * x[k];
    m[k] = kMomentum * m[k] + u;
    x[k] -= kRate * m[k];
  }
}

ACID_BENCH_AVX2
void mix_and_apply_loop(float* __restrict x, float* __restrict xt, const float* __restrict own,
                        const float* __restrict partner, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    const float delta = kMixing * (xt[k] - x[k]), m = own[k] - partner[k];
    x[k] = x[k] + delta - 0.5f * m;
    xt[k] = xt[k] - delta - 0.7f * m;
  }
}

ACID_BENCH_AVX2
void mix_and_copy_loop(float* __restrict x, float* __restrict xt, float* __restrict out,
                       std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    const float delta = kMixing * (xt[k] - x[k]);
    x[k] += delta;
    xt[k] -= delta;
    out[k] = x[k];
  }
}

ACID_BENCH_AVX2
void tracking_loop(float* __restrict x, float* __restrict y, float* __restrict g_prev,
                   const float* __restrict g, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    y[k] = y[k] + g[k] - g_prev[k];
    g_prev[k] = g[k];
    x[k] -= kRate * y[k];
  }
}

ACID_BENCH_AVX2
void outer_loop(float* __restrict x, float* __restrict phi, float* __restrict m,
                const float* __restrict mean, float eta, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    const float d = phi[k] - mean[k];
    m[k] = kMomentum * m[k] + d;
    phi[k] -= eta * (d + kMomentum * m[k]);
    x[k] = phi[k];
  }
}

ACID_BENCH_AVX2
void mean_loop(float* __restrict x, const float* __restrict a, const float* __restrict b,
               const float* __restrict c, std::size_t size) {
  constexpr float kThird = 1.0f / 3;
  for (std::size_t k = 0; k < size; ++k)
    x[k] = a[k] + (kThird * (b[k] - a[k]) + kThird * (c[k] - a[k]));
}

/// A worker of a method that is a listing, and the messages that it hears.
class Subject {
 public:
  static constexpr std::size_t kMessages = 3;

  Subject(std::string_view name, const json& options, std::size_t size, const Backend& backend)
      : messages_(kMessages * message_step(size) + kShift, backend) {
    const AlgorithmEntry& entry = *find_algorithm(name);
    const Spectral spectral{.chi1 = 2, .chi2 = 1, .eta = 0.35, .alpha_tilde = 0.7};
    const Method method = entry.make(with_fallbacks(entry.fields, options), &spectral);
    settings_.dimension = size;
    settings_.backend = &backend;
    settings_.decay = {{0, size, kDecay}};
    settings_.planned_rate = [](std::int64_t) { return kRate; };
    settings_.snapshots = !method.rules.floats->point_is_x();
    settings_.follow(method.rules);
    if (!settings_.own_step) settings_.optimizer.momentum = kMomentum;
    memory_ = std::make_unique<WorkerMemory<float>>(settings_, 1);
    worker_ = std::make_unique<Worker>(settings_, *memory_);
    std::vector<float> start(size);
    for (std::size_t k = 0; k < size; ++k) start[k] = 1.0f + 1e-6f * static_cast<float>(k % 1000);
    worker_->start(start);
    std::ranges::copy(start, worker_->gradient().begin());
    for (std::size_t k = 0; k < kMessages; ++k)
      for (std::size_t i = 0; i < size; ++i)
        message(k)[i] = start[i] + 1e-4f * static_cast<float>(k);
  }

  void step() { worker_->commit_gradient(t_ += 1, worker_->gradient(), kRate); }
  void meet() {
    t_ += 1e-4;
    worker_->apply(t_, t_, {message(0), settings_.dimension}, {message(1), settings_.dimension});
  }
  void say() { worker_->offer(t_ += 1e-4, {message(2), settings_.dimension}); }
  void hear_mean() { worker_->hear(t_ += 1, {.mean = message(0), .own = message(1)}); }
  void hear_three() {
    const std::array<kernels::Weighted<float>, kMessages> sources{
        {{message(0), 0}, {message(1), 1.0 / 3}, {message(2), 1.0 / 3}}};
    worker_->hear(t_ += 1, {.sources = sources});
  }

  float* x() { return memory_->shared(0); }
  float* slot(std::size_t index) { return layout().slot(x(), memory_->own(0), index); }
  float* moment() { return layout().moment(memory_->own(0), 0); }
  float* gradient() { return layout().gradient(memory_->own(0)); }
  float* message(std::size_t index) {
    return messages_.data() + kShift + index * message_step(settings_.dimension);
  }

 private:
  static constexpr std::size_t kShift = 112;  // a distance from a page's start that is used once
  static std::size_t message_step(std::size_t size) { return (size / 1024 + 1) * 1024 + kShift; }
  WorkerLayout<float> layout() const { return WorkerLayout<float>(settings_); }

  WorkerSettings settings_;
  Arena<float> messages_;
  std::unique_ptr<WorkerMemory<float>> memory_;
  std::unique_ptr<Worker> worker_;
  double t_ = 0;
};

struct ListingContest {
  const char* what;
  std::string_view listing;
  json options;
  int vectors_moved;  // reads and writes
  void (Subject::*event)();
  void (*loop)(Subject& with, std::size_t size);
  bool wanted;  // has a budget
};

// Options with which values neither grow nor shrink in many repetitions.
std::vector<ListingContest> listing_contests() {
  return {
      {"SGD with momentum", "d-psgd", json::object(), 5, &Subject::step,
       [](Subject& of, std::size_t n) { momentum_loop(of.x(), of.moment(), of.gradient(), n); },
       true},
      {"A²CiD² mixes and applies", "a2cid2", json::object(), 6, &Subject::meet,
       [](Subject& of, std::size_t n) {
         mix_and_apply_loop(of.x(), of.slot(0), of.message(0), of.message(1), n);
       },
       true},
      {"A²CiD² says", "a2cid2", json::object(), 5, &Subject::say,
       [](Subject& of, std::size_t n) { mix_and_copy_loop(of.x(), of.slot(0), of.message(2), n); },
       false},
      {"gradient tracking steps", "gradient-tracking", json::object(), 7, &Subject::step,
       [](Subject& of, std::size_t n) {
         tracking_loop(of.x(), of.slot(0), of.slot(1), of.gradient(), n);
       },
       true},
      {"DiLoCo hears",
       "diloco",
       {{"eta", 0.0}},
       6,
       &Subject::hear_mean,
       [](Subject& of, std::size_t n) {
         outer_loop(of.x(), of.slot(0), of.slot(1), of.message(0), 0.0f, n);
       },
       true},
      {"D-PSGD hears two neighbours", "d-psgd", json::object(), 4, &Subject::hear_three,
       [](Subject& of, std::size_t n) {
         mean_loop(of.x(), of.message(0), of.message(1), of.message(2), n);
       },
       false},
  };
}

void measure(Bench& bench, const ListingContest& contest, std::size_t size) {
  const double gigabytes = 4e-9 * contest.vectors_moved * static_cast<double>(size);
  Subject ours(contest.listing, contest.options, size, cpu_backend());
  Subject plain(contest.listing, contest.options, size, *cpu_backend("baseline"));
  Subject hand(contest.listing, contest.options, size, cpu_backend());
  const auto speed = [&](std::function<void()> pass) {
    return speed_of_pass(gigabytes, bench.seconds(0.02), std::move(pass));
  };
  const std::string what = fmt::format("{}, {}", contest.what, parameters_text(size));
  const auto samples = bench.interleave(
      what, {speed([&] { (ours.*contest.event)(); }), speed([&] { contest.loop(hand, size); }),
             speed([&] { (plain.*contest.event)(); })});
  const auto wanted = contest.wanted ? std::optional(ratio_at_least(0.9)) : std::nullopt;
  bench.add({what, "GB/s", "fused loop", wanted, samples[0], samples[1]});
  bench.add({what, "GB/s", "interpreter", {}, samples[0], samples[2]});
}

}  // namespace

Measure prepare_listings(CLI::App& app) {
  const auto sizes = add_parameters_option(app, {100'000, 670'000, 11'200'000});
  return [sizes](Bench& bench) {
    if (const std::string_view why = why_interpreted(cpu_backend()); !why.empty())
      bench.note(fmt::format("listings are interpreted: {}.", why));
    for (const std::size_t size : *sizes)
      for (const ListingContest& contest : listing_contests()) measure(bench, contest, size);
  };
}

}  // namespace acid::bench
