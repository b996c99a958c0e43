#include "engine/run/servers.hpp"

#include <algorithm>
#include <array>

namespace acid {

// What is kept for gradients it does without.
Servers::One::One(const WorkerSettings& of_workers, const Rules& rules, std::uint32_t number)
    : settings([&] {
        WorkerSettings own = of_workers;
        own.follow(rules);
        own.optimizer = {};
        own.buffer_size = 0;
        own.gradients = own.snapshots = false;
        return own;
      }()),
      memory(settings, 1),
      worker(settings, memory, 0, number) {}

Servers::Servers(const Method& method, const WorkerSettings& of_workers, int workers,
                 std::span<const float> x0)
    : method_(method),
      dimension_(of_workers.dimension),
      workers_(workers),
      count_(method.servers(workers)),
      hubs_(std::make_unique<Hub[]>(index(count_))),
      of_worker_(index(workers)) {
  const auto add = [&](const Rules& rules) {
    const std::size_t number = index(workers) + all_.size();
    all_.push_back(std::make_unique<One>(of_workers, rules, static_cast<std::uint32_t>(number)));
    all_.back()->worker.start(x0);
  };
  for (int h = 0; h < count_; ++h) add(*method.server);
  if (method.hubs) add(method.hubs->above);
}

double Servers::latest_event() const {
  double latest = 0;
  for (const auto& one : all_) latest = std::max(latest, one->worker.last_event());
  return latest;
}

StepSize Servers::arrive(int w, double learning_rate) {
  Hub& here = hub(of(w));
  const std::int64_t number = here.arrivals.load() + 1;
  const std::int64_t last = std::exchange(of_worker_[index(w)], number);
  here.arrivals.store(number);
  here.learning_rate = learning_rate;
  return {learning_rate, number, number - 1 - last};
}

bool Servers::leave(int h) {
  Hub& one = hub(h);
  if (!method_.hubs || one.is_away || one.arrivals.load() - one.heard < method_.hubs->every)
    return false;
  one.learning_rate_above = one.learning_rate;
  return one.is_away = true;
}

StepSize Servers::arrive_above(int h) {
  Hub& one = hub(h);
  const std::int64_t number = arrivals_above_.load() + 1;
  const std::int64_t last = std::exchange(one.above, number);
  arrivals_above_.store(number);
  return {one.learning_rate_above, number, number - 1 - last};
}

void Servers::come_back(int h) {
  hub(h).heard = hub(h).arrivals.load();
  hub(h).is_away = false;
}

std::int64_t Servers::bytes_of_visits() const {
  if (!method_.hubs) return 0;
  return visits() * static_cast<std::int64_t>(method_.bytes_per_visit(dimension_));
}

void Servers::say_above(int h, double t, std::span<float> said) {
  Worker& one = server(h);
  one.say_by(*method_.hubs->visit.floats, std::max(t, one.last_event()), said);
}

void Servers::hear_above(int h, double t, std::span<const float> said,
                         std::span<const float> reply) {
  Worker& one = server(h);
  const std::array<kernels::Weighted<float>, 2> sources{{{said.data(), 1}, {reply.data(), 1}}};
  one.hear_by(*method_.hubs->visit.floats, std::max(t, one.last_event()), {.sources = sources});
}

}  // namespace acid
